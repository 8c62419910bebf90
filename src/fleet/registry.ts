/** The kinds of launchers that a process knows. */
import { fault } from '../core/errors.ts';
import type { LauncherSpec } from '../core/pools/pool.ts';
import { suggest } from '../core/suggest.ts';
import type { Launcher, LauncherHost, LauncherKind } from './launcher.ts';

export class LauncherKinds {
  readonly #kinds: ReadonlyMap<string, LauncherKind>;
  readonly #leavesOthers: boolean;

  /** `leavesOthers`: this process leaves all other kinds to others, instead of refusing them. */
  constructor(kinds: readonly LauncherKind[], { leavesOthers = false }: { readonly leavesOthers?: boolean } = {}) {
    this.#leavesOthers = leavesOthers;
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
  }

  get names(): readonly string[] {
    return [...this.#kinds.keys()];
  }

  /** Whether pools of this kind are for other processes. */
  leaves(kind: string): boolean {
    return this.#leavesOthers && !this.#kinds.has(kind);
  }

  make({ kind, ...settings }: LauncherSpec, host: LauncherHost): Launcher {
    const found = this.#kinds.get(kind);
    if (found !== undefined) return found.make(settings, host);
    const problem = `${kind} is not a kind of launcher`;
    const near = suggest(kind, this.names);
    const hint = near === undefined ? `Take one of: ${this.names.join(', ')}.` : `Did you mean ${near}?`;
    throw fault('INVALID_INPUT', { field: 'launcher.kind', problem }, { hint });
  }
}
