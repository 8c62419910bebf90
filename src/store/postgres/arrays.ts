/**
 * Arrays in Postgres' text format, written here: the driver looks at every element three times, which is half of what a
 * flush costs this process.
 */

export function numbers(values: readonly (number | null | undefined)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ',';
    text += values[i] ?? 'NULL';
  }
  return `${text}}`;
}

/** Locks on several rows are taken in the order of their ids, so that no two transactions wait for each other. */
export function inOrder<T extends { readonly task: number }>(items: readonly T[]): readonly T[] {
  const sorted = items.every(({ task }, i) => i === 0 || (items[i - 1] as T).task <= task);
  return sorted ? items : items.toSorted((a, b) => a.task - b.task);
}

export function booleans(values: readonly boolean[]): string {
  return `{${values.join(',')}}`;
}

export function texts(values: readonly (string | null | undefined)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ',';
    const value = values[i];
    text += value === null || value === undefined ? 'NULL' : quoted(value);
  }
  return `${text}}`;
}

/** What JSON would escape in another way than Postgres: a control character, and half of a surrogate pair. */
const OTHERS = /[^ -\ud7ff\ue000-\uffff]/;

/** The values of journals are JSON, full of quotes: JSON.stringify escapes them in half the time that a replacement takes. */
function quoted(text: string): string {
  return OTHERS.test(text) ? `"${text.replace(/[\\"]/g, '\\$&')}"` : JSON.stringify(text);
}
