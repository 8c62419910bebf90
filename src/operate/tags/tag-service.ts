import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import { parseTest } from '../../core/placement/tag.ts';
import { carries, type WantedTests, wantedTests } from '../../engine/read/unmet.ts';
import type { FleetMember } from '../../engine/records.ts';
import type { RemovedTagView, RenamedTagView, TagView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { asksFor, type TagUser, tagUsers } from './definitions.ts';
import { refuseCredentials } from './given-tags.ts';

/** Tags: those that were made by name, those that workers carry or were given, and those that tasks require. */
export class TagService {
  readonly #snapshot: EngineSnapshot;

  constructor(snapshot: EngineSnapshot) {
    this.#snapshot = snapshot;
  }

  /** Those that there are, by name; then the tests that no worker passes. */
  async list(): Promise<readonly TagView[]> {
    const { store } = this.#snapshot.engine;
    const [fleet, settings, made, wanted, users] = await Promise.all([
      this.#living(),
      store.workerSettings(),
      store.tagList(),
      this.#wanted(),
      tagUsers(this.#snapshot),
    ]);
    const isMade = new Set(made.map(({ name }) => name));
    const given = settings.flatMap(({ tags }) => tags);
    const there = sorted([...isMade, ...given, ...fleet.flatMap(({ tags }) => tags)]);
    const able = fleet.filter(({ enabled }) => enabled);
    const lacks = (test: string): boolean => !able.some(({ tags }) => carries(test, tags));
    const known = there.map((tag): TagView => {
      const [wantedBy, usedBy] = [queuesOf(wanted, tag), usersOf(users, tag)];
      const carriers = fleet.filter(({ tags }) => tags.includes(tag));
      return {
        tag,
        workers: carriers.length,
        names: sorted(carriers.map(({ name }) => name)),
        wantedBy,
        made: isMade.has(tag),
        givenTo: sorted(settings.filter(({ tags }) => tags.includes(tag)).map(({ name }) => name)),
        usedBy,
        // What is asked for is a test. A worker may carry any text, which is none.
        missing: (wantedBy.length > 0 || usedBy.some(isAsking)) && lacks(tag),
      };
    });
    const asked = [...wanted.keys(), ...users.flatMap((user) => (isAsking(user) ? user.tests : []))];
    const missing = sorted(asked)
      .filter((test) => lacks(test) && !known.some(({ tag, missing: told }) => told && asksFor(test, tag)))
      .map((test): TagView => {
        const usedBy = users.filter(({ tests }) => tests.includes(test)).map(({ kind, name }) => ({ kind, name }));
        return { ...EMPTY, tag: test, wantedBy: sorted(wanted.get(test) ?? []), usedBy, missing: true };
      });
    return [...known, ...missing];
  }

  async create(name: string, by: string): Promise<TagView> {
    const tag = checkTag('name', name);
    if (await this.#snapshot.engine.store.tagAdd({ name: tag, by })) return this.#find(tag);
    throw fault('CONFLICT', { problem: `there is a tag ${tag} already` });
  }

  /** Answers what still names the old one. */
  async rename(from: string, to: string, by: string): Promise<RenamedTagView> {
    const { engine } = this.#snapshot;
    const tag = checkTag('name', to);
    if (from === tag) throw fault('INVALID_INPUT', { field: 'name', problem: 'it is the name that the tag has' });
    const { kind, workers } = await engine.store.tagRename({ from: checkKey('tag', from), to: tag, by });
    if (kind === 'none') throw noTag(from);
    if (kind === 'taken') {
      const hint = 'Two tags do not become one: give the workers that one with "leasehold workers tag".';
      throw fault('CONFLICT', { problem: `there is a tag ${tag} already` }, { hint });
    }
    engine.workers.refresh();
    return { ...(await this.#find(tag)), changed: workers, still: await this.#still(from) };
  }

  async remove(name: string, force: boolean): Promise<RemovedTagView> {
    const { engine } = this.#snapshot;
    const tag = checkKey('tag', name);
    if (!force) {
      const found = (await this.list()).find((one) => one.tag === tag);
      if (found !== undefined && !isUnused(found)) throw used(found);
    }
    const { kind, workers } = await engine.store.tagRemove({ name: tag, force });
    if (kind === 'none') throw noTag(tag);
    if (kind === 'used') throw used({ ...EMPTY, tag, givenTo: workers } satisfies TagView);
    engine.workers.refresh();
    return { tag, removed: true, changed: workers, still: await this.#still(tag) };
  }

  /** What names a tag that is gone. */
  async #still(tag: string): Promise<RenamedTagView['still']> {
    const found = (await this.list()).find((one) => one.tag === tag);
    if (found !== undefined) return { queues: found.wantedBy, workers: found.names, definitions: found.usedBy };
    const [wanted, users] = await Promise.all([this.#wanted(), tagUsers(this.#snapshot)]);
    return { queues: queuesOf(wanted, tag), workers: [], definitions: usersOf(users, tag) };
  }

  async #find(tag: string): Promise<TagView> {
    return (await this.list()).find((one) => one.tag === tag) ?? { ...EMPTY, tag };
  }

  #wanted(): Promise<WantedTests> {
    return wantedTests(this.#snapshot.engine.store);
  }

  /** Workers whose heartbeats arrive. A silent worker stays in the fleet until the reaper has seen it, and is left out here before. */
  async #living(): Promise<readonly FleetMember[]> {
    const { store, workerStaleMs } = this.#snapshot.engine;
    const { now, members } = await store.workerFleet();
    return members.filter(({ seenAt }) => now - seenAt <= workerStaleMs);
  }
}

const EMPTY = { workers: 0, names: [], wantedBy: [], made: false, givenTo: [], usedBy: [], missing: false } as const;

/** A pool gives a tag to its workers, and asks for none. */
const isAsking = ({ kind }: { readonly kind: TagUser['kind'] }): boolean => kind !== 'pool';

/** A credential is held, and never made here. */
function checkTag(field: string, name: string): string {
  const tag = checkKey(field, name);
  refuseCredentials(field, [tag]);
  const { op } = parseTest(field, tag);
  if (op === undefined || op === '=') return tag;
  throw fault('INVALID_INPUT', {
    field,
    problem: `a tag is a name, or a name with a value: gpu, gpu=nvidia; not ${op}`,
  });
}

function queuesOf(wanted: WantedTests, tag: string): readonly string[] {
  return sorted([...wanted].flatMap(([test, queues]) => (asksFor(test, tag) ? [...queues] : [])));
}

function usersOf(users: readonly TagUser[], tag: string): TagView['usedBy'] {
  return users
    .filter((user) => user.tests.some((test) => (isAsking(user) ? asksFor(test, tag) : test === tag)))
    .map(({ kind, name }) => ({ kind, name }));
}

function isUnused({ names, wantedBy, givenTo, usedBy }: TagView): boolean {
  return names.length + wantedBy.length + givenTo.length + usedBy.length === 0;
}

function used({ tag, names, wantedBy, givenTo, usedBy }: TagView): Error {
  const users = [
    ...sorted([...givenTo, ...names]).map((name) => `worker ${name}`),
    ...wantedBy.map((name) => `queue ${name}`),
    ...usedBy.map(({ kind, name }) => `${kind} ${name}`),
  ];
  const more = users.length > MOST_SAID ? ` and ${users.length - MOST_SAID} more` : '';
  const problem = `the tag ${tag} is used by ${users.slice(0, MOST_SAID).join(', ')}${more}`;
  const hint = 'With force it is taken from the workers that were given it; what requires it finds nobody then.';
  return fault('CONFLICT', { problem }, { hint });
}

/** In one sentence. */
const MOST_SAID = 5;

const noTag = (name: string): Error =>
  fault('NOT_FOUND', { kind: 'tag', id: name }, { hint: '"leasehold tags list" shows the tags.' });

const sorted = (texts: Iterable<string>): readonly string[] => [...new Set(texts)].sort();
