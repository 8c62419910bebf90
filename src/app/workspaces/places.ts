/** What workspaces have left on the disk of this host, for its operator. No node is asked. */
import { basename, join } from 'node:path';
import { environment } from '../../config/environment.ts';
import { enterPlace, placesOf } from '../../workspace/place.ts';
import type { WorkspaceRecord } from '../../workspace/record.ts';
import { WorkspaceResolver } from '../../workspace/resolver.ts';
import { realWorld } from '../world.ts';

export interface KeptWorkspace {
  /** The place of its worker, and its name there: `1/task-…`. */
  readonly key: string;
  /** `unknown`: nothing is known of the folder. */
  readonly state: WorkspaceRecord['state'] | 'unknown';
  /** No attempt that may live has it. */
  readonly orphan: boolean;
  readonly task?: string | undefined;
  readonly attempt?: number | undefined;
  readonly source?: string | undefined;
  readonly path?: string | undefined;
  readonly at?: number | undefined;
}

/** All of a folder, in the order of its places. */
export async function keptWorkspaces(folder: string): Promise<readonly KeptWorkspace[]> {
  const found: KeptWorkspace[] = [];
  await inPlaces(folder, async (place, resolver, lives) => {
    for (const { key, state = 'unknown', task, attempt, spec, path, at } of await resolver.orphans()) {
      const orphan = !lives({ state });
      found.push({ key: `${place}/${key}`, state, orphan, task, attempt, source: spec?.source, path, at });
    }
  });
  return found;
}

/** Removes these, but none of an attempt that may live; answers those that are gone. */
export async function cleanWorkspaces(folder: string, keys: readonly string[]): Promise<readonly string[]> {
  const gone: string[] = [];
  await inPlaces(folder, async (place, resolver, lives) => {
    const own = keys.filter((key) => key.startsWith(`${place}/`)).map((key) => key.slice(place.length + 1));
    for (const key of await resolver.clean(own, lives)) gone.push(`${place}/${key}`);
  });
  return gone;
}

type Lives = (record: { readonly state: KeptWorkspace['state'] }) => boolean;

async function inPlaces(
  folder: string,
  work: (place: string, resolver: WorkspaceResolver, lives: Lives) => Promise<void>,
): Promise<void> {
  const { clock, timers } = realWorld();
  for (const place of await placesOf(folder)) {
    // While this process has the place no worker does: what is there belongs to nobody.
    const leave = await enterPlace(place);
    const lives: Lives = ({ state }) => leave === undefined && (state === 'preparing' || state === 'ready');
    const resolver = new WorkspaceResolver({
      folder: join(place),
      roots: new Map(),
      path: environment().PATH,
      clock,
      timers,
    });
    try {
      await work(basename(place), resolver, lives);
    } finally {
      leave?.();
    }
  }
}
