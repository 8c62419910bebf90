/** Short texts: a short id, a number with its noun, a list with commas. */

/** The end of a task id, which is enough in a list. */
export function shortId(id: string): string {
  return id.length > 20 ? `…${id.slice(-8)}` : id;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** The parts of a list such as `gpu, docker`. */
export function commaList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** A text that begins with a capital and ends with a full stop. */
export function asSentence(text: string): string {
  return text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`;
}
