import type { World } from '../../../core/world.ts';

/** How long a run keeps the process to itself. */
const TURN_MS = 20;

/** Signals of the system, timers and sockets are only heard between turns of the process. */
export class FairTurn {
  readonly #world: World;
  #began: number;

  constructor(world: World) {
    this.#world = world;
    this.#began = world.clock.monotonic();
  }

  async give(): Promise<void> {
    const { clock, timers } = this.#world;
    if (clock.monotonic() - this.#began < TURN_MS) return;
    await new Promise<void>((go) => timers.soon(go));
    this.#began = clock.monotonic();
  }
}
