const BYTES = 256;
const ROOT = 0;
const NONE = 0;

/**
 * Finds many byte strings at once, in one pass over the text (Aho and Corasick). A state is the longest end of what was read that some
 * string begins with. Children of a state are a list, because nearly all states have one; those of the root are a table.
 */
export class Automaton {
  readonly #root = new Int32Array(BYTES);
  readonly #byte: Uint8Array;
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #fail: Int32Array;
  /** The length of the state. */
  readonly #depth: Int32Array;
  /** The length of the longest string that ends in the state. */
  readonly #match: Int32Array;
  #count = 1;

  constructor(strings: readonly Uint8Array[]) {
    const most = strings.reduce((sum, { length }) => sum + length, 1);
    this.#byte = new Uint8Array(most);
    this.#child = new Int32Array(most);
    this.#sibling = new Int32Array(most);
    this.#fail = new Int32Array(most);
    this.#depth = new Int32Array(most);
    this.#match = new Int32Array(most);
    for (const one of strings) this.#add(one);
    this.#link();
  }

  /** The state after one more byte. */
  next(state: number, byte: number): number {
    for (let from = state; ; from = this.#fail[from] as number) {
      const to = this.#step(from, byte);
      if (to !== NONE || from === ROOT) return to;
    }
  }

  /** How much of what was read may still become a part of a string. */
  depth(state: number): number {
    return this.#depth[state] as number;
  }

  /** The longest string that ends here; 0: none does. */
  match(state: number): number {
    return this.#match[state] as number;
  }

  #step(from: number, byte: number): number {
    if (from === ROOT) return this.#root[byte] as number;
    let to = this.#child[from] as number;
    while (to !== NONE && this.#byte[to] !== byte) to = this.#sibling[to] as number;
    return to;
  }

  #add(string: Uint8Array): void {
    let at = ROOT;
    for (const byte of string) {
      const known = this.#step(at, byte);
      at = known === NONE ? this.#grow(at, byte) : known;
    }
    this.#match[at] = string.length;
  }

  #grow(from: number, byte: number): number {
    const made = this.#count++;
    this.#byte[made] = byte;
    this.#depth[made] = (this.#depth[from] as number) + 1;
    if (from === ROOT) this.#root[byte] = made;
    else {
      this.#sibling[made] = this.#child[from] as number;
      this.#child[from] = made;
    }
    return made;
  }

  /** Breadth first: the state to fall back to is shorter, and known by then. */
  #link(): void {
    const queue = new Int32Array(this.#count);
    let end = 0;
    for (const first of this.#root) if (first !== NONE) queue[end++] = first;
    for (let at = 0; at < end; at++) {
      const state = queue[at] as number;
      for (let child = this.#child[state] as number; child !== NONE; child = this.#sibling[child] as number) {
        const back = this.next(this.#fail[state] as number, this.#byte[child] as number);
        this.#fail[child] = back;
        this.#match[child] = Math.max(this.#match[child] as number, this.#match[back] as number);
        queue[end++] = child;
      }
    }
  }
}
