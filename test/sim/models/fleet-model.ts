import type { Placement } from '../../../src/core/placement/placement.ts';
import type { ClaimAnswer, Lane, NewClaim, NewWorker, WorkerBeat, WorkerSetting } from '../../../src/store/store.ts';
import type { Board } from '../board.ts';
import { must } from '../trace.ts';

interface Worker {
  readonly name: string;
  readonly own: readonly string[];
  enabled: boolean;
  /** Those of its name. */
  given: readonly string[];
  draining: boolean;
}

interface Place {
  readonly queue: string;
  readonly handler: string;
  readonly placement: Placement;
}

/** Which worker may have what: by the settings as they are at the commit of a claim. */
export class FleetModel {
  readonly #board: Board;
  readonly #workers = new Map<number, Worker>();
  readonly #settings = new Map<string, { readonly enabled: boolean; readonly tags: readonly string[] }>();
  readonly #lanes = new Map<number, Place>();

  constructor(board: Board) {
    this.#board = board;
  }

  interned(lanes: readonly Lane[]): void {
    for (const { id, queue, handler, rules } of lanes) {
      this.#lanes.set(id, { queue, handler, placement: rules?.placement ?? {} });
    }
  }

  registered({ name, tags }: NewWorker, worker: number): void {
    const { enabled, tags: given } = this.#settings.get(name) ?? { enabled: true, tags: [] };
    this.#workers.set(worker, { name, own: tags, enabled, given, draining: false });
  }

  set({ name, enabled, tags }: WorkerSetting): void {
    const before = this.#settings.get(name) ?? { enabled: true, tags: [] };
    const setting = { enabled: enabled ?? before.enabled, tags: tags ?? before.tags };
    this.#settings.set(name, setting);
    for (const worker of this.#workers.values()) {
      if (worker.name !== name) continue;
      worker.enabled = setting.enabled;
      worker.given = setting.tags;
    }
  }

  beaten({ worker: id, state }: WorkerBeat, known: boolean): void {
    const worker = this.#workers.get(id);
    if (!known || worker === undefined) return;
    if (state !== undefined) worker.draining = state === 'draining';
  }

  fellSilent(workers: readonly number[]): void {
    for (const id of workers) {
      const worker = this.#workers.get(id);
      if (worker !== undefined) worker.draining = false;
    }
  }

  /** Of a claim that was given nothing to hold before: may this worker have this task? */
  granted({ holder, task: byNumber }: NewClaim, task: number): void {
    const worker = this.#workers.get(holder);
    must(worker !== undefined, 'place', () => `${task} was granted to worker ${holder}, which never registered`);
    const is = (): string => `${task} was granted to ${JSON.stringify(worker)}`;
    must(worker.enabled && !worker.draining, 'place', is);
    if (byNumber !== undefined) return; // who asks for a task by its number asks for no placement
    const place = this.#placeOf(task);
    must(fits(place.placement, worker), 'place', () => `${is()} and asks for ${JSON.stringify(place.placement)}`);
    const { maxPerWorker } = place.placement;
    if (Object.keys(place.placement).length > 0) this.#board.gates.reach('placement was met');
    if (maxPerWorker === undefined) return;
    const held = this.#heldLike(holder, place);
    must(held <= maxPerWorker, 'place', () => `${is()}, which has ${held} of ${maxPerWorker}`);
    if (held === maxPerWorker) this.#board.gates.reach('worker has as many as it may');
  }

  /** What a claim was not given, and why. */
  passedOver({ holder, revision, op, task: byNumber }: NewClaim, answer: ClaimAnswer | undefined): void {
    const worker = this.#workers.get(holder);
    if (worker === undefined || byNumber !== undefined || (answer?.grants.length ?? 0) > 0) return;
    if (!worker.enabled || worker.draining) {
      this.#board.gates.reach(worker.enabled ? 'draining worker got nothing' : 'disabled worker got nothing');
      return;
    }
    // Nothing else is left that would keep the store from looking.
    if (answer === undefined && revision !== undefined && op === undefined) {
      this.#board.gates.reach('setting edited between choice and claim');
      return;
    }
    for (const [task, { state }] of this.#board.tasks) {
      if (state !== 'ready' || fits(this.#placeOf(task).placement, worker)) continue;
      this.#board.gates.reach('placement kept a task from a worker');
      return;
    }
  }

  #placeOf(task: number): Place {
    return this.#lanes.get(this.#board.task(task).lane) ?? { queue: '', handler: '', placement: {} };
  }

  #heldLike(holder: number, place: Place): number {
    const like = JSON.stringify(place);
    let held = 0;
    for (const [id, task] of this.#board.tasks) {
      if (task.state === 'running' && task.holder === holder && JSON.stringify(this.#placeOf(id)) === like) held++;
    }
    return held;
  }
}

/** In words of its own: the tags that the runs use are `NAME` and `NAME=NUMBER`, the tests `NAME` and `NAME>=NUMBER`. */
function fits({ only, never, requires = [] }: Placement, { name, own, given }: Worker): boolean {
  if (never?.includes(name) || (only !== undefined && !only.includes(name))) return false;
  const tags = [...own, ...given];
  return requires.every((test) => {
    const [key, least] = test.split('>=');
    if (least === undefined) return tags.some((tag) => tag === key);
    return tags.some(
      (tag) => tag.startsWith(`${key}=`) && Number(tag.slice((key as string).length + 1)) >= Number(least),
    );
  });
}
