/** Reads what a task says about its workspace. All that is wrong is told at once; a key that nobody knows is refused. */
import { checkName } from '../names.ts';
import { suggest } from '../suggest.ts';
import { isCommit, readBranch, readRef } from './ref.ts';
import { REPO_PROTOCOLS, type RepoProtocol, readRepoAddress } from './repo-address.ts';
import type { KeepPolicy, WorkspaceSpec } from './workspace.ts';
import { readWorkspaceName, spelled } from './workspace-name.ts';

const KEYS: Readonly<Record<WorkspaceSpec['source'], readonly string[]>> = {
  shared_fs: ['source', 'path'],
  git: ['source', 'repo', 'ref', 'commit', 'branch', 'credential', 'publish', 'keep'],
  empty: ['source', 'keep'],
};
const SOURCES = Object.keys(KEYS) as readonly WorkspaceSpec['source'][];
export const KEEP_POLICIES: readonly KeepPolicy[] = ['delete', 'keep', 'archive', 'on-failure'];
export const PUBLISH_WAYS = ['push', 'bundle', 'none'] as const;

export type ReadSpec = { readonly spec: WorkspaceSpec } | { readonly problems: readonly string[] };

/** `protocols`: of repositories. Which of them a task gets is for its worker to say, so the default is every one that any worker may allow. */
export function readWorkspaceSpec(given: unknown, protocols: readonly RepoProtocol[] = REPO_PROTOCOLS): ReadSpec {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { problems: ['it is not an object'] };
  const fields = given as Readonly<Record<string, unknown>>;
  const source = SOURCES.find((known) => known === fields['source']);
  if (source === undefined) return { problems: [`"source" is none of ${SOURCES.join(', ')}`] };
  const reader = new Reader(fields, KEYS[source]);
  const spec = READERS[source](reader, protocols);
  return reader.problems.length === 0 ? { spec } : { problems: reader.problems };
}

const READERS: Readonly<
  Record<WorkspaceSpec['source'], (of: Reader, protocols: readonly RepoProtocol[]) => WorkspaceSpec>
> = {
  shared_fs: (of) => ({ source: 'shared_fs', path: of.required('path', pathText) }),
  empty: (of) => compact({ source: 'empty' as const, keep: of.keep() }),
  git: (of, protocols) =>
    compact({
      source: 'git' as const,
      repo: of.required('repo', (text) => repoText(text, protocols)),
      ref: of.optional('ref', (text) => only(readRef(text), 'ref')),
      commit: of.optional('commit', commitText),
      branch: of.optional('branch', (text) => only(readBranch(text), 'branch')),
      credential: of.optional('credential', credentialText),
      publish: of.optional('publish', (text) => oneOf(text, PUBLISH_WAYS)),
      keep: of.keep(),
    }),
};

/** What a field means; a problem is an array of its one sentence, so that no text is mistaken for it. */
type Field<T> = T | readonly [problem: string];

class Reader {
  readonly problems: string[] = [];
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: Readonly<Record<string, unknown>>, known: readonly string[]) {
    this.#fields = fields;
    for (const key of Object.keys(fields)) {
      if (known.includes(key)) continue;
      const near = suggest(key, known);
      const shown = JSON.stringify(key.slice(0, 80));
      this.problems.push(
        `there is no field ${shown}${near === undefined ? ` here; there are ${known.join(', ')}` : `; did you mean "${near}"?`}`,
      );
    }
  }

  required(name: string, read: (text: string) => Field<string>): string {
    const value = this.optional(name, read);
    if (value === undefined && (this.#fields[name] ?? undefined) === undefined)
      this.problems.push(`"${name}" is missing`);
    return value ?? '';
  }

  optional<T extends string>(name: string, read: (text: string) => Field<T>): T | undefined {
    const given = this.#fields[name] ?? undefined;
    if (given === undefined) return undefined;
    const value = typeof given === 'string' ? read(given) : (['it is not a text'] as const);
    if (typeof value === 'string') return value;
    this.problems.push(`"${name}": ${value[0]}`);
    return undefined;
  }

  keep(): KeepPolicy | undefined {
    return this.optional('keep', (text) => oneOf(text, KEEP_POLICIES));
  }
}

function pathText(text: string): Field<string> {
  const name = readWorkspaceName(text);
  return typeof name === 'string' ? [name] : spelled(name);
}

function repoText(text: string, protocols: readonly RepoProtocol[]): Field<string> {
  const address = readRepoAddress(text, protocols);
  if (typeof address === 'string') return [address];
  return address.kind === 'remote' ? address.url : address.name;
}

const commitText = (text: string): Field<string> =>
  isCommit(text) ? text : ['it is not the full name of a commit: 40 or 64 small hex digits'];

function credentialText(text: string): Field<string> {
  try {
    return checkName('credential', text);
  } catch (error) {
    return [(error as Error).message];
  }
}

function only<K extends string>(read: { readonly [key in K]: string } | string, key: K): Field<string> {
  return typeof read === 'string' ? [read] : read[key];
}

function oneOf<T extends string>(text: string, known: readonly T[]): Field<T> {
  return known.find((one) => one === text) ?? [`it is none of ${known.join(', ')}`];
}

/** Without the fields that were not given: two spellings of one wish are one text. */
function compact<T extends object>(spec: T): T {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as T;
}
