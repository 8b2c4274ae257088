declare module '@bokeh/bokehjs/build/js/bokeh.esm.min.js' {
  const bokeh: unknown;
  export default bokeh;
}
