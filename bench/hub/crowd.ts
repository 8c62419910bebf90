/** The workers of a scene, shared among some processes. */
import { readPlace } from '../contenders/hub/place.ts';
import type { CrowdArgs, CrowdVerbs } from './crowd-child.ts';
import { Helper } from './line.ts';
import type { NodeProcess } from './node.ts';

const PROCESSES = 2;

export interface CrowdOptions {
  /** Of each worker. */
  readonly slots: number;
  /** Of their names; another one for a second crowd. */
  readonly prefix?: string;
}

export class Crowd {
  readonly #helpers: readonly Helper<CrowdVerbs>[];
  #count = 0;

  constructor(place: string, { address, admin }: NodeProcess, { slots, prefix = 'crowd' }: CrowdOptions) {
    const args: CrowdArgs = { address, admin, queue: readPlace(place).queue, slots, prefix };
    this.#helpers = Array.from({ length: PROCESSES }, () => new Helper<CrowdVerbs>('./crowd-child.ts', args));
  }

  get count(): number {
    return this.#count;
  }

  /** So many more. */
  async join(more: number): Promise<void> {
    const from = this.#count;
    this.#count += more;
    const share = Math.ceil(more / PROCESSES);
    await Promise.all(
      this.#helpers.map((helper, i) =>
        helper.ask('join', { from: from + i * share, to: Math.min(from + (i + 1) * share, this.#count) }),
      ),
    );
  }

  async samples(): Promise<readonly number[]> {
    return (await Promise.all(this.#helpers.map((helper) => helper.ask('samples')))).flat();
  }

  async starts(): Promise<readonly number[]> {
    return (await Promise.all(this.#helpers.map((helper) => helper.ask('starts')))).flat();
  }

  async release(): Promise<void> {
    await Promise.all(this.#helpers.map((helper) => helper.ask('release')));
  }

  async kill(): Promise<void> {
    await Promise.all(this.#helpers.map((helper) => helper.kill()));
  }
}
