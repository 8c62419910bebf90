import type { World } from '../../core/world.ts';
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
  readonly housekeeper: Housekeeper | undefined;
}
