import type { Contender, MeasureName } from '../contenders/contender.ts';
import type { Ground } from '../ground/ground.ts';

/** One line of the table, computed from the figures under `key`. */
export interface Row {
  readonly label: string;
  readonly key: string;
  /** Empty: a count. */
  readonly unit: '' | '/s' | 'ms' | 'µs' | 'MB' | 'ms/s' | 's' | 'kB' | '%' | 'MB/s';
  /** Of many samples, pooled over the rounds (100: the greatest); without it a figure is the median of the rounds. */
  readonly percentile?: number;
  /** What the × refers to, round by round: the reference contender, or the contender's own figure under another key. */
  readonly ratio?: 'reference' | { readonly own: string };
}

export interface Measure {
  readonly name: MeasureName;
  readonly rows: readonly Row[];
  /** Names of the contenders that it is about; default all. */
  readonly only?: readonly string[];
  /** More rounds than this say nothing new. */
  readonly rounds?: number;
  /** One round of one contender. */
  round(world: World, contender: Contender): Promise<void>;
}

/** What a measure gets from the bench. */
export interface World {
  readonly quick: boolean;
  readonly ground: Ground;
  /** A fresh file or database for one use, gone after the round. */
  fresh(): Promise<string>;
  /** One that lasts for the whole run; made at its first use, empty or as a copy. */
  lasting(name: string, like?: string): Promise<string>;
  /** Says on stderr what is going on. */
  say(what: string): void;
  /** Adds a paragraph below the tables. */
  note(text: string): void;
  /** Keeps a figure of this round, and says it. */
  record(contender: Contender, row: Row, figure: number): void;
  /** Keeps samples that several rows share. */
  samples(contender: Contender, key: string, figures: readonly number[]): void;
}
