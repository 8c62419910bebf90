import { requireOwnFolder } from '../../app/data/own-folder.ts';
import { sourceOf } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';

/** Refuses a data folder that another user has prepared where this command was started. */
export function ownFolder(config: Config): void {
  requireOwnFolder({ folder: config.dataDir, named: sourceOf(config, 'dataDir') !== 'default' });
}
