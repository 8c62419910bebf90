/**
 * Makes foreign text safe for a terminal. The input, error or log of a task may contain sequences that move the cursor, fill the
 * clipboard, change the title or reverse the line; all of them are removed.
 */

// Built from text: the linter takes a control character in a literal pattern for a mistake, and mostly it is one.
const ESC = '\\u001b';

// Whole sequences are removed first, with their content. A string sequence without an end loses only its beginning, so that the
// rest of the text does not vanish. No class below contains a control character, so each match ends at the next one and the whole
// takes linear time.
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]`, // CSI
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])\\P{Cc}*(?:\\u0007|${ESC}\\\\|\\u009c)`, // OSC, DCS, SOS, PM, APC
    `${ESC}[ -/]*[0-Z\\\\^-~]`, // the rest, two bytes or more; "[" and "]" begin the ones above
  ].join('|'),
  'gu',
);
const SGR = new RegExp(`^${ESC}\\[[\\d;:]*m$`);
/** An ESC that does not begin a colour. */
const LONE_ESC = new RegExp(`${ESC}(?!\\[[\\d;:]*m)`, 'g');

/** C0, C1 and DEL, except tab and newline. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;
/** Like `CONTROLS`, without ESC. */
const CONTROLS_BUT_ESC = new RegExp(`(?![\\t\\n${ESC}])\\p{Cc}`, 'gu');
/** Format characters, which reorder or hide text. Joiners stay, because scripts and emoji need them. */
const INVISIBLE = /(?![\u200c\u200d])\p{Cf}/gu;
const NOT_TEXT = /[\u007f-\u009f\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu;

/** One line: for a cell, a name, a title. */
export function safeLine(text: string): string {
  return safeText(text).replace(/\s+/g, ' ').trim();
}

/** Several lines; tabs and newlines stay. */
export function safeText(text: string): string {
  return newlines(text).replace(SEQUENCES, '').replace(CONTROLS, '').replace(INVISIBLE, '');
}

/** A line of a log. Its colours may stay, and end with the line. */
export function safeLog(text: string, { colours }: { readonly colours: boolean }): string {
  if (!colours) return safeText(text);
  const kept = newlines(text)
    .replace(SEQUENCES, (sequence) => (SGR.test(sequence) ? sequence : ''))
    .replace(CONTROLS_BUT_ESC, '')
    .replace(LONE_ESC, '')
    .replace(INVISIBLE, '');
  return kept.includes('\u001b') ? `${kept}\u001b[0m` : kept;
}

/** A carriage return would overwrite the line: it begins a new one instead. */
function newlines(text: string): string {
  return text.toWellFormed().replace(/\r\n?|\u0085|\u2028|\u2029/g, '\n');
}

/** One line of JSON with all special characters escaped; it parses to the same value. */
export function safeJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replace(NOT_TEXT, escaped);
}

function escaped(letter: string): string {
  let text = '';
  for (let i = 0; i < letter.length; i += 1) text += `\\u${letter.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return text;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Isolates right-to-left text, so that it cannot reorder its neighbours on a terminal. */
export function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}
