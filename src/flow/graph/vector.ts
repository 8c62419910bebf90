/** A list of fixed length of which a copy with one other value shares all but a few arrays with it: a snapshot stays what it was. */
const WIDTH = 32;

type Branch<T> = readonly (T | Branch<T>)[];

export class Vector<T> {
  readonly length: number;
  readonly #root: Branch<T>;
  readonly #levels: number;

  private constructor(length: number, root: Branch<T>, levels: number) {
    this.length = length;
    this.#root = root;
    this.#levels = levels;
  }

  static of<T>(values: readonly T[]): Vector<T> {
    let branches: readonly (T | Branch<T>)[] = values;
    let levels = 0;
    while (branches.length > WIDTH) {
      const parts: Branch<T>[] = [];
      for (let from = 0; from < branches.length; from += WIDTH) parts.push(branches.slice(from, from + WIDTH));
      branches = parts;
      levels++;
    }
    return new Vector(values.length, branches, levels);
  }

  get(index: number): T {
    let branch = this.#root;
    for (let level = this.#levels; level > 0; level--) branch = branch[placeAt(index, level)] as Branch<T>;
    return branch[placeAt(index, 0)] as T;
  }

  with(index: number, value: T): Vector<T> {
    return new Vector(this.length, replaced(this.#root, index, value, this.#levels), this.#levels);
  }
}

const placeAt = (index: number, level: number): number => Math.floor(index / WIDTH ** level) % WIDTH;

function replaced<T>(branch: Branch<T>, index: number, value: T, level: number): Branch<T> {
  const place = placeAt(index, level);
  const part = level === 0 ? value : replaced(branch[place] as Branch<T>, index, value, level - 1);
  return branch.with(place, part);
}
