import { nameTaken, type TokenRow, tokenOf, tokenTaken } from '../../../rows/token-rows.ts';
import type { NewToken, Rotation, TokenAdding, TokenExchange, TokenRecord } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';
import { setNamed } from './credential.ts';

/**
 * In a transaction, in a statement of its own: serializes rotations, exchanges and revocations of one name. Without it
 * a worker whose tokens are all revoked would keep the one for which its code was exchanged at that moment.
 */
function lockTokensOf(session: Session, ...names: readonly string[]): Promise<void> {
  return lockChannels(
    session,
    names.map((name) => `token:${name}`),
  );
}

export async function addToken(session: Session, flushId: FlushId, adding: TokenAdding): Promise<TokenRecord> {
  const { token, replaces, unless, setting } = adding;
  const row = await once(session, 'token', flushId, async () => {
    if (setting !== undefined) await setNamed(session, { name: token.name, ...setting });
    if (replaces !== undefined || unless !== undefined) await lockTokensOf(session, token.name);
    if ((await session.rows('tokenNamed', [token.name, texts(unless ?? [])])).length > 0) throw nameTaken(token);
    return insert(session, token, replaces);
  });
  return tokenOf(row);
}

async function insert(session: Session, token: NewToken, replaces: Rotation | undefined): Promise<TokenRow> {
  const { kind, role, name, hash, prefix, by, ttlMs = null } = token;
  const [row] = await session.all<TokenRow>('tokenAdd', [kind, role, name, hash, prefix, by, ttlMs]);
  if (row === undefined) throw tokenTaken();
  if (replaces !== undefined) await endOthers(session, row, replaces);
  return row;
}

/** Immediate ends are revocations: a clock that is set back would undo an expiry. */
async function endOthers(session: Session, { id, kind, name }: TokenRow, { graceMs }: Rotation): Promise<void> {
  if (graceMs <= 0) await session.rows('tokenRevokeOthers', [name, kind, id]);
  else await session.rows('tokenShortenOthers', [name, kind, id, graceMs]);
}

export async function findToken(session: Session, hash: string): Promise<TokenRecord | undefined> {
  const [row] = await session.all<TokenRow>('tokenFind', [hash]);
  return row && tokenOf(row);
}

export async function exchangeToken(
  session: Session,
  flushId: FlushId,
  { hash, token, replaces }: TokenExchange,
): Promise<TokenRecord | undefined> {
  const row = await once(session, 'token', flushId, async (): Promise<TokenRow | null> => {
    // The name of a token never changes. Whether it is live is checked again under the lock.
    const code = await findToken(session, hash);
    if (code === undefined) return null;
    await lockTokensOf(session, code.name, token.name);
    if ((await session.rows('tokenUse', [hash])).length === 0) return null;
    return insert(session, token, replaces);
  });
  return row === null ? undefined : tokenOf(row);
}

export async function areTokensAlive(session: Session, ids: readonly number[]): Promise<readonly boolean[]> {
  const rows = await session.rows('tokenAlive', [numbers(ids)]);
  const live = new Set(rows.map(([id]) => id));
  return ids.map((id) => live.has(id));
}

export async function noteTokensUsed(session: Session, ids: readonly number[]): Promise<void> {
  await session.rows('tokenUsed', [numbers(ids)]);
}

export async function listTokens(session: Session): Promise<readonly TokenRecord[]> {
  return (await session.all<TokenRow>('tokenList', [])).map(tokenOf);
}

export function revokeToken(session: Session, flushId: FlushId, id: number): Promise<boolean> {
  return once(session, 'token', flushId, async () => (await session.rows('tokenRevoke', [id])).length > 0);
}

/** In a transaction: ends the secrets and codes of a worker's name. A bearer of that label stays. */
export async function revokeTokensNamed(session: Session, name: string): Promise<number> {
  await lockTokensOf(session, name);
  return (await session.rows('tokenRevokeNamed', [name])).length;
}
