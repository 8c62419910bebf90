import { fault } from '../errors.ts';
import { checkKey, checkWorkerId } from '../names.ts';

/** The workers that may hold a credential. */
export interface CredentialChoice {
  /** By name. */
  readonly workers: readonly string[];
  /** All names that were given one of these tags. A tag that a worker brings by itself does not count. */
  readonly tags: readonly string[];
}

/** An edit of a choice: who is in both lists is taken away. */
export interface ChoiceChange {
  readonly addWorkers?: readonly string[] | undefined;
  readonly removeWorkers?: readonly string[] | undefined;
  readonly addTags?: readonly string[] | undefined;
  readonly removeTags?: readonly string[] | undefined;
}

export const NOBODY: CredentialChoice = { workers: [], tags: [] };
const MOST_ENTRIES = 1000;

export function changedChoice(before: CredentialChoice, change: ChoiceChange): CredentialChoice {
  const { addWorkers, removeWorkers, addTags, removeTags } = change;
  return {
    workers: merged('workers', before.workers, addWorkers, removeWorkers),
    tags: merged('tags', before.tags, addTags, removeTags),
  };
}

export function checkChoiceChange(change: ChoiceChange): ChoiceChange {
  const workers = (names: readonly string[] | undefined): readonly string[] | undefined =>
    names?.map((name) => checkWorkerId('workers', name));
  const tags = (some: readonly string[] | undefined): readonly string[] | undefined =>
    some?.map((tag) => checkKey('tags', tag));
  return {
    addWorkers: workers(change.addWorkers),
    removeWorkers: workers(change.removeWorkers),
    addTags: tags(change.addTags),
    removeTags: tags(change.removeTags),
  };
}

/** `tags`: those that its name was given. */
export function isChosen(choice: CredentialChoice, name: string, tags: readonly string[]): boolean {
  return choice.workers.includes(name) || choice.tags.some((tag) => tags.includes(tag));
}

function merged(
  field: string,
  before: readonly string[],
  add: readonly string[] = [],
  remove: readonly string[] = [],
): readonly string[] {
  const all = [...new Set([...before, ...add])].filter((one) => !remove.includes(one)).sort();
  if (all.length <= MOST_ENTRIES) return all;
  throw fault('INVALID_INPUT', { field, problem: `a credential has at most ${MOST_ENTRIES} of them` });
}
