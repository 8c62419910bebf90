import type { HandlerSchema, ToldSchema } from '../core/placement/worker.ts';
import type { World } from '../core/world.ts';
import type { NewWorker, Store, WorkerBeat, WorkerRecord, WorkerSetting } from '../store/store.ts';
import { Beats, type WorkerReport } from './beats.ts';
import { type Beat, checkBeat, checkNewWorker, checkSchemas, checkWorkerSetting } from './check.ts';
import type { Batcher, Coalescer } from './coalescer.ts';
import { ticketOf } from './pools.ts';

export interface WorkersDeps {
  readonly store: Pick<
    Store,
    'workerRegister' | 'workerBeat' | 'workerList' | 'workerSet' | 'schemaPut' | 'schemaList'
  >;
  readonly coalescer: Coalescer;
  readonly world: World;
  /** How long a worker may be silent before it counts as lost. */
  readonly staleMs: number;
  /** Settings of workers changed, so what claims know of them is out of date. */
  readonly onChange: () => void;
}

/** What a worker reports when it starts. */
export type WorkerRequest = Omit<NewWorker, 'tags'> &
  Partial<Pick<NewWorker, 'tags'>> & {
    readonly schemas?: readonly HandlerSchema[] | undefined;
    /** The text of the ticket that it was started with. */
    readonly ticket?: string | undefined;
  };

/** The workers of a cluster: registered, kept alive, set and listed. */
export class Workers {
  readonly #deps: WorkersDeps;
  readonly #batcher: Batcher<WorkerBeat, boolean>;
  readonly #beats: Beats;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
    this.#batcher = deps.coalescer.batcher({
      name: 'beat',
      maxItems: 500,
      maxInFlight: 1,
      send: (beats) => deps.store.workerBeat({ beats }),
    });
    this.#beats = new Beats({ world: deps.world, staleMs: deps.staleMs, beat: (beat) => this.beat(beat) });
  }

  /** A new incarnation. Resolves to the number that claims are made with. */
  async register(request: WorkerRequest): Promise<number> {
    const known = checkNewWorker(request);
    const schemas = checkSchemas(request.schemas, known.handlers);
    const brought = request.ticket === undefined ? {} : { redeems: ticketOf(request.ticket) };
    // The schemas come first: a reader that sees the worker sees the schemas of its handlers.
    if (schemas.length > 0) await this.#deps.store.schemaPut({ worker: known.name, schemas });
    return this.#deps.store.workerRegister({ ...known, ...brought });
  }

  /** A heartbeat that shares its write with those of other workers. It resolves at once unless the state is new. */
  async alive(worker: number, state: Beat['state'], report?: WorkerReport): Promise<void> {
    // Refused here: a heartbeat that waits is written when its caller has its answer.
    if (report !== undefined) checkBeat({ worker, ...report });
    return this.#beats.beat(worker, state, report);
  }

  /** Counts a task that the worker has ended; the count goes with its next heartbeat. */
  ended(worker: number): void {
    this.#beats.ended(worker);
  }

  /** A heartbeat, written now. False: the store does not know this worker, which must register again. */
  async beat(beat: Beat): Promise<boolean> {
    return this.#batcher.submit(checkBeat(beat));
  }

  /** Settings of a worker by its name. They hold at once for running workers, and for all that register later. */
  async set(setting: WorkerSetting): Promise<void> {
    await this.#deps.store.workerSet(checkWorkerSetting(setting));
    this.#deps.onChange();
  }

  /** Tags or settings of workers were changed without this engine: claims read them again. */
  refresh(): void {
    this.#deps.onChange();
  }

  list(): Promise<readonly WorkerRecord[]> {
    return this.#deps.store.workerList();
  }

  /** The input schemas of handlers, as workers reported them: for each handler perhaps several. */
  schemas(): Promise<readonly ToldSchema[]> {
    return this.#deps.store.schemaList();
  }
}
