import { isChosen } from '../../core/credential/choice.ts';
import { fault } from '../../core/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Principal } from '../auth/access.ts';

interface WorkerChange {
  readonly name: string;
  readonly addTags?: readonly string[] | undefined;
  /** Whoever asks is shown a secret by which one joins under the name. */
  readonly showsSecret: boolean;
}

/**
 * Only an admin says who holds a credential. So nobody else gives a worker a tag that is chosen for one, or is shown the secret of a name
 * that is chosen: with it one joins in its place, and is sent the values.
 */
export async function requireUnchosen(
  { credentials, store }: Pick<Engine, 'credentials' | 'store'>,
  { role }: Pick<Principal, 'role'>,
  { name, addTags = [], showsSecret }: WorkerChange,
): Promise<void> {
  if (role === 'admin' || (addTags.length === 0 && !showsSecret)) return;
  const [chosen, settings] = await Promise.all([credentials.list(), store.workerSettings()]);
  const { tags = [] } = settings.find((one) => one.name === name) ?? {};
  const added = addTags.filter((tag) => !tags.includes(tag));
  const found = chosen.find((choice) =>
    showsSecret ? isChosen(choice, name, [...tags, ...added]) : choice.tags.some((tag) => added.includes(tag)),
  );
  if (found === undefined) return;
  const problem = `it would let ${name} have the credential ${found.name}, and who has one is for an admin to say`;
  throw fault('FORBIDDEN', { problem }, { hint: 'Ask with the token of an admin.' });
}
