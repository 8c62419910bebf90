import { isEngineError } from '../../core/errors.ts';
import type { Log } from '../../engine/log.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { CredentialSafe } from '../../operate/credentials/safe.ts';
import type { SecretSource } from '../data/secret-source.ts';
import type { App } from '../open.ts';

/** Lets the workers of this process have credentials, if the secret of the cluster is here. Without it they go without. */
export async function giveCredentials(app: App, source: Pick<SecretSource, 'read'>, log: Log): Promise<boolean> {
  const safe = await safeOf(app.engine.store, source);
  if (safe === undefined) return false;
  const { engine } = app;
  // What has no secret loads nothing of it.
  const { CredentialDesk } = await import('../../server/credentials/desk.ts');
  app.giveCredentials(new CredentialDesk({ engine, safe, world: engine.world, log }));
  return true;
}

/** Undefined: there is no secret here, or another one than that of the store. Nothing is made. */
export async function safeOf(
  store: Pick<App['engine']['store'], 'secretPin' | 'clusterKey'>,
  source: Pick<SecretSource, 'read'>,
): Promise<CredentialSafe | undefined> {
  const text = readable(source);
  const pin = text === undefined ? undefined : await store.secretPin({});
  if (text === undefined || pin === undefined) return undefined;
  const secret = new ClusterSecret(text, store.clusterKey);
  return secret.fingerprint === pin.fingerprint ? new CredentialSafe(secret) : undefined;
}

/** The file may be that of another user, whose secret this process is not to have. */
function readable(source: Pick<SecretSource, 'read'>): string | undefined {
  try {
    return source.read();
  } catch (error) {
    if (isEngineError(error) || (error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    throw error;
  }
}
