import { join, resolve } from 'node:path';
import type { ArtifactOptions } from '../../app/artifacts/blob-place.ts';
import { isPostgres } from '../../app/store-name.ts';
import type { Config } from '../../config/options.ts';

/** Where the bytes of artifacts lie, for a process of this data directory. Beside a SQLite file the place needs no name. */
export function artifactStoreOf({ artifactStore, store, dataDir }: Config): string | undefined {
  return artifactStore ?? (isPostgres(store) ? resolve(join(dataDir, 'artifacts')) : undefined);
}

export function artifactOptionsOf(config: Config): ArtifactOptions {
  const { artifactQuota, artifactTaskQuota, artifactRetention: artifactRetentionMs } = config;
  return { artifactStore: artifactStoreOf(config), artifactQuota, artifactTaskQuota, artifactRetentionMs };
}
