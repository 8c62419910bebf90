import { resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { Timers } from '../../core/world.ts';
import { isRootName, rootTag } from '../../flow/loop/workspace-name.ts';

/** What the operator of a worker allows to loops. */
export interface LoopHost {
  /** Folders in which workspaces lie, by the names that runs have for them. */
  readonly roots: ReadonlyMap<string, string>;
  /** Whether programs may run: agents that are programs, and the commands of a verification. */
  readonly shell: boolean;
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  readonly timers: Timers;
}

/** Folders by the names of roots. */
export function rootsOf(given: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(given).map(([name, folder]) => {
      if (isRootName(name) && typeof folder === 'string' && folder !== '') return [name, resolve(folder)] as const;
      const problem = `${JSON.stringify(name.slice(0, 80))} is no name of a root: small letters, digits, - and _, and then its folder`;
      throw fault('INVALID_INPUT', { field: 'loop roots', problem });
    }),
  );
}

/** The tags by which runs find the workers that have their root. */
export const tagsOf = (roots: Iterable<string>): readonly string[] => [...roots].map(rootTag);
