/** Characters that take no column of a terminal: combining marks and joiners. */
const ZERO = /^(?:\p{Mn}|\p{Me}|\p{Cf})$/u;
/** Characters that take two columns: the ranges of East Asian writing and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The columns of a line without control characters. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const letter of text) width += widthOfLetter(letter);
  return width;
}

function widthOfLetter(letter: string): number {
  if (ZERO.test(letter)) return 0;
  return WIDE.test(letter) ? 2 : 1;
}

/** At most this many columns; an ellipsis shows the cut. */
export function clip(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width < 1) return '';
  let kept = '';
  let used = 0;
  for (const letter of text) {
    used += widthOfLetter(letter);
    if (used > width - 1) break;
    kept += letter;
  }
  return `${kept}…`;
}
