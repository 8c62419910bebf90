/** What the processes of `npm run bench:runs` tell each other. */

/** Durable steps of a run; of a machine: states with an action. */
export const STEPS = 20;
/** Runs at once of the scene `many`. */
export const AT_ONCE = 64;

export type SceneName = 'many' | 'lone';

/** What a run gives: how many steps it went through, and what the last one gave. */
export interface Output {
  readonly n: number;
  readonly last: string;
}

export interface Place {
  readonly store: 'sqlite' | 'postgres';
  /** A file or an address. */
  readonly at: string;
  /** The folder of the built package. */
  readonly dist: string;
  /** Runs that it is asked for at once. */
  readonly atOnce: number;
}

/** A contender, ready to run. */
export interface Runner {
  /** Starts a run, waits until its end is committed, and gives what it gave. */
  run(number: number): Promise<Output>;
  /** CPU time (µs) of processes of its own. */
  cpuMicros?(): number;
  /** Gives how many effects all of its runs had. */
  close(): Promise<number>;
}

/** A scene, measured in one process. */
export interface SceneFigures {
  readonly rate: number;
  /** Of a step, all client processes. */
  readonly cpuMicros: number;
}

/** `begin`: the warm-up is over; the bench answers when it has noted what the server has used. */
export type Told = 'begin' | 'end' | SceneFigures | { readonly error: string };
