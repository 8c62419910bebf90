/** More than this is the same again. */
export const SAME = 0.85;

/** Longer texts are compared by their ends: that is where an agent says what it did. */
const MOST = 64 * 1024;

/** How like two texts are, from 0 to 1: the pairs of neighbouring words that both have (Dice), whatever the blanks between them. */
export function similarity(a: string, b: string): number {
  const [left, right] = [pairsOf(a), pairsOf(b)];
  const total = sizeOf(left) + sizeOf(right);
  if (total === 0) return 1;
  let shared = 0;
  for (const [pair, count] of left) shared += Math.min(count, right.get(pair) ?? 0);
  return (2 * shared) / total;
}

/** Each pair of words with how often it comes. A lone word is a pair with nothing. */
function pairsOf(text: string): ReadonlyMap<string, number> {
  const words = text.slice(-MOST).toLowerCase().match(/\S+/g) ?? [];
  const pairs = new Map<string, number>();
  for (let i = 0; i < Math.max(words.length - 1, Math.min(words.length, 1)); i++) {
    const pair = `${words[i]} ${words[i + 1] ?? ''}`;
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function sizeOf(pairs: ReadonlyMap<string, number>): number {
  let size = 0;
  for (const count of pairs.values()) size += count;
  return size;
}
