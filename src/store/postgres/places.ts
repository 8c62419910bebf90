/** The items at these places, in this order. */
export function pick<T>(items: readonly T[], places: readonly number[]): readonly T[] {
  return places.map((i) => items[i] as T);
}
