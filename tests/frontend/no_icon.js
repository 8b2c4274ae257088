// An icon's SVG, for those who only ask that there is one.
module.exports = '<svg xmlns="http://www.w3.org/2000/svg"/>';
