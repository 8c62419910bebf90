import { fault } from '../../core/errors.ts';
import { CREDENTIAL } from '../../core/placement/tag.ts';

/** A worker has the tag of a credential by holding it. Given by hand it would stay when the credential is taken away. */
export function refuseCredentials(field: string, tags: readonly string[] = []): void {
  const wrong = tags.find((tag) => tag.startsWith(CREDENTIAL));
  if (wrong === undefined) return;
  const problem = `${CREDENTIAL}… is the tag of a credential, which a worker has by holding it`;
  const hint = `"leasehold credentials grant ${wrong.slice(CREDENTIAL.length)} --worker NAME" gives it.`;
  throw fault('INVALID_INPUT', { field, problem }, { hint });
}
