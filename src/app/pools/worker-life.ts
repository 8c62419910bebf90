import { hostname } from 'node:os';
import type { World } from '../../core/world.ts';
import { fault, isEngineError } from '../library/manual.ts';
import {
  DEFAULT_INTERVAL_SECONDS,
  type RegistrationBackend,
  type WorkerRecord,
  type WorkerRegistration,
} from './registration-backend.ts';

/** Of the error that ended a worker. */
const MOST_ERROR = 1000;

/** One worker from its registration to its end: it beats by a timer, whatever the machine does meanwhile. */
export class WorkerLife {
  readonly id: string;
  readonly #registration: RegistrationBackend;
  readonly #world: World;
  readonly #worker: WorkerRegistration;
  #planned: (() => void) | undefined;
  #beating: Promise<void> | undefined;
  #over = false;

  private constructor(registration: RegistrationBackend, world: World, worker: WorkerRegistration) {
    this.id = worker.worker_id;
    this.#registration = registration;
    this.#world = world;
    this.#worker = worker;
  }

  static async begin(
    registration: RegistrationBackend,
    world: World,
    worker: Pick<WorkerRegistration, 'worker_id' | 'pool_id' | 'capabilities' | 'heartbeat_interval'>,
  ): Promise<{ readonly life: WorkerLife; readonly record: WorkerRecord }> {
    const life = new WorkerLife(registration, world, { host: hostname(), pid: process.pid, ...worker });
    const record = await registration.register(life.#worker);
    life.#plan();
    return { life, record };
  }

  /** No more beats; the last one may be under way. */
  stop(): void {
    this.#over = true;
    this.#planned?.();
    this.#planned = undefined;
  }

  /** It says goodbye, with the error that ended it, if one did. */
  async end(error?: string): Promise<void> {
    if (this.#over) return;
    this.stop();
    await this.#beating;
    if (error !== undefined) await this.#registration.heartbeat(this.id, { error: error.slice(0, MOST_ERROR) });
    await this.#registration.updateStatus(this.id, 'terminated');
  }

  #plan(): void {
    const seconds = this.#worker.heartbeat_interval ?? DEFAULT_INTERVAL_SECONDS;
    this.#planned = this.#world.timers.after(
      seconds * 1000,
      () => {
        this.#beating = this.#beat().finally(() => {
          if (!this.#over) this.#plan();
        });
      },
      { unref: true },
    );
  }

  async #beat(): Promise<void> {
    try {
      await this.#registration.heartbeat(this.id);
    } catch (error) {
      // The store has forgotten it after a long silence. Any other fault is one of the store, and the next beat may reach it.
      if (isEngineError(error, 'NOT_FOUND')) await this.#registration.register(this.#worker).catch(() => {});
    }
  }
}

/** The seconds of `settings.heartbeat_interval`; undefined: none are set. */
export function intervalOf(value: unknown): number | undefined {
  if (value === undefined || value === null || value === 0 || value === false) return undefined;
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof seconds === 'number' && seconds > 0 && Number.isFinite(seconds)) return seconds;
  const problem = 'it must be a number of seconds above 0';
  throw fault('INVALID_INPUT', { field: 'settings.heartbeat_interval', problem });
}
