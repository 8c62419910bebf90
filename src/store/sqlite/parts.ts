import type { World } from '../../core/world.ts';
import type { Bell } from './file/bell.ts';
import type { Durability } from './file/connection.ts';
import type { Housekeeper } from './file/housekeeper.ts';
import type { Writer } from './file/writer.ts';

/** What `open.ts` builds and the store works with. */
export interface SqliteParts {
  readonly file: string;
  /** A database without a file lives and dies with this process. */
  readonly inMemory: boolean;
  readonly durability: Durability;
  readonly world: World;
  readonly writer: Writer;
  readonly clusterKey: string;
  /** How other processes hear of commits; a database in memory has none. */
  readonly bell: Bell | undefined;
  readonly housekeeper: Housekeeper | undefined;
}
