// Words numbers as view/wording.py and view/money_words.py do, in English as the rest of the page. Times in ms.
const UNKNOWN = "–";
const TIME_UNITS = { "µs": 1e-3, ms: 1, s: 1e3 };
const isKnown = (value) => typeof value === "number" && Number.isFinite(value);
// As Python rounds: the number that is there, not its shortest decimal, and an exact half to the even digit.
function rounded(value, places) {
  const scaled = value * 10 ** places;
  const isHalf = (value * 4096) % 1 === 0 && Math.abs(scaled % 1) === 0.5;
  return isHalf ? (2 * Math.round(scaled / 2)) / 10 ** places : Number(value.toFixed(places));
}
const fixed = (value, places) =>
  rounded(value, places).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
const decimalsOf = (value, digits) => Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
function significant(value, digits = 3) {
  if (value === 0) return "0";
  if (!isKnown(value)) return UNKNOWN;
  const near = rounded(value, Math.min(100, decimalsOf(value, digits)));
  return fixed(value, Math.min(9, decimalsOf(near || value, digits)));
}
function unitOf(times) {
  const sorted = times.filter((ms) => isKnown(ms) && ms > 0).sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? 1;
  return Object.keys(TIME_UNITS).find((unit) => median < 1000 * TIME_UNITS[unit]) ?? "s";
}
const timeText = (ms, unit = unitOf([ms])) =>
  isKnown(ms) ? `${significant(ms / TIME_UNITS[unit])} ${unit}` : UNKNOWN;
function rangeText(low, high, word, unit = "") {
  if (!isKnown(low) || !isKnown(high)) return "";
  const isPoint = Math.abs(high - low) <= 1e-3 * Math.max(Math.abs(low), Math.abs(high));
  return isPoint ? "" : `${word(low)} to ${word(high)}${unit}`;
}
const timeRange = (low, high, unit) => rangeText(low, high, (ms) => significant(ms / TIME_UNITS[unit]), ` ${unit}`);
function amount(usd) {
  if (usd === 0) return "0";
  if (usd < 0.0001) return usd >= 0.000001 ? significant(usd, 2) : "<0.000001";
  return usd >= 1000 ? fixed(usd, 0) : usd >= 0.995 ? fixed(usd, 2) : significant(usd);
}
const moneyText = (usd) => (isKnown(usd) ? `$${amount(usd)}` : UNKNOWN);
const moneyRange = (low, high) => {
  const text = rangeText(low, high, amount);
  return text && `$${text}`;
};
const gigabytes = (gb) => (gb > 0 && gb < 0.001 ? "<0.001" : significant(gb).replace(/\.00?$/, ""));
const memoryText = (gb) => (isKnown(gb) ? `${gigabytes(gb)} GB` : UNKNOWN);
function fasterText(ratio) {
  if (!isKnown(ratio) || ratio <= 0) return "";
  if (Math.abs(ratio - 1) < 0.01) return "equally fast";
  return ratio > 1 ? `${significant(ratio)}x faster` : `${significant(1 / ratio)}x slower`;
}
function shareText(share) {
  if (!isKnown(share)) return UNKNOWN;
  if (share > 0 && share <= 0.005) return "<1 %";
  return share >= 0.995 && share < 1 ? ">99 %" : `${Math.round(100 * share)} %`;
}
function durationText(ms) {
  if (!isKnown(ms)) return UNKNOWN;
  const minutes = Math.round(ms / 60_000);
  if (ms >= 3.6e8) return `${significant(ms / 3.6e6)} h`;
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
  if (ms >= 600_000) return `${minutes} min`;
  return ms >= 120_000 ? `${fixed(ms / 60_000, 1)} min` : timeText(ms);
}
