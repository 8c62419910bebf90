import type { World } from '../../core/world.ts';
import type { Database } from './connect/database.ts';
import type { LaneCursors } from './lane-cursors.ts';
import type { Lanes } from './lanes.ts';
import type { Statements } from './statements.ts';

/** What the verbs of one open store share. */
export interface PostgresParts {
  readonly database: Database;
  /** One connection for renewals and beats. */
  readonly reserved: Database;
  readonly world: World;
  readonly texts: Statements;
  /** Quoted. */
  readonly schema: string;
  readonly lanes: Lanes;
  readonly cursors: LaneCursors;
  /** Counters that had a rate, a cost or a pause when a claim last looked. */
  readonly rated: Set<number>;
  /** Plain counters that had room for much more when a claim last looked. */
  readonly ample: Set<number>;
  /** The number of this store among all that were ever opened on this data. */
  readonly store: number;
}
