// How are packed numbers read? As surfer_lab/view/packed.py packed them: base64 of floats, whole numbers or log codes.

import type { Packed } from './generated/protocol';

const CODES = 65_534;
const MOST_U8 = 255;
const MOST_U16 = 65_535;

/** The numbers, flat; NaN where not known. Refuses (RangeError) what is not whole numbers long. */
export function unpack(packed: Packed): Float64Array {
  const bytes = Uint8Array.from(atob(packed.data), character => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  if (packed.kind === 'u8') {
    return Float64Array.from(bytes, code => (code === MOST_U8 ? NaN : code));
  }
  if (packed.kind === 'u16') {
    return Float64Array.from({ length: wholeCount(bytes, 2) }, (_, index) => {
      const code = view.getUint16(2 * index, true);
      return code === MOST_U16 ? NaN : code;
    });
  }
  if (packed.kind === 'f32') {
    return Float64Array.from({ length: wholeCount(bytes, 4) }, (_, index) =>
      view.getFloat32(4 * index, true)
    );
  }
  const low = packed.log_low ?? 0;
  const width = (packed.log_high ?? 0) - low;
  return Float64Array.from({ length: wholeCount(bytes, 2) }, (_, index) => {
    const code = view.getUint16(2 * index, true);
    return code === 0 ? NaN : Math.exp(low + ((code - 1) / CODES) * width);
  });
}

function wholeCount(bytes: Uint8Array, size: number): number {
  if (bytes.length % size) {
    throw new RangeError(`${bytes.length} bytes are no whole count of ${size}-byte numbers`);
  }
  return bytes.length / size;
}
