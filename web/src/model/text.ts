/** Short texts: a short id, a number with its noun, a list with commas. */

/** Tasks have long ids; in a list the end of one is enough to tell it. */
export function shortId(id: string): string {
  return id.length > 20 ? `…${id.slice(-8)}` : id;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** What stands between commas: `gpu, docker`. */
export function commaList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
