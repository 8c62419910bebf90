import { fault, isEngineError } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import type { Engine } from '../../engine/engine.ts';
import { hashOf, newSecret, prefixOf } from '../../operate/secrets.ts';
import type { Role } from '../../protocol/route.ts';
import type { AnswerOf } from '../../protocol/routes.ts';
import type { Principal, TokenLookup } from './access.ts';

type TokenStore = Pick<
  Engine['store'],
  'tokenAdd' | 'tokenFind' | 'tokenAlive' | 'tokenUsed' | 'tokenList' | 'tokenRevoke'
>;
type Shown = AnswerOf<'createToken'>;

export interface NewBearer {
  readonly name: string;
  readonly role: Exclude<Role, 'worker'>;
  readonly ttlMs?: number | undefined;
}

/** Makes, rotates and revokes tokens. The text of a token is shown once; the store keeps its hash. */
export class TokenService implements TokenLookup {
  readonly #store: TokenStore;

  constructor(store: TokenStore) {
    this.#store = store;
  }

  async find(hash: string): Promise<Principal | undefined> {
    const found = await this.#store.tokenFind({ hash });
    // A code does not authenticate: it is exchanged for a secret.
    if (found === undefined || found.kind === 'code') return undefined;
    return { role: found.role, name: found.name, token: found.id };
  }

  alive(tokens: readonly number[]): Promise<readonly boolean[]> {
    return this.#store.tokenAlive({ ids: tokens });
  }

  noteUsed(tokens: readonly number[]): Promise<void> {
    return this.#store.tokenUsed({ ids: tokens });
  }

  list(): Promise<AnswerOf<'listTokens'>['tokens']> {
    return this.#store.tokenList();
  }

  async create({ name, role, ttlMs }: NewBearer, by: string): Promise<Shown> {
    checkKey('name', name);
    const token = newSecret(role);
    const record = await this.#store
      .tokenAdd({
        token: { kind: 'bearer', role, name, hash: hashOf(token), prefix: prefixOf(token), by, ttlMs },
        // A rotation ends the token of the same name, so a name must mean one token.
        unless: ['bearer'],
      })
      .catch((error: unknown) => {
        if (!isEngineError(error, 'CONFLICT')) throw error;
        const hint = 'Give it another name, or rotate or revoke that one.';
        throw fault('CONFLICT', error.details, { hint });
      });
    return { ...record, token };
  }

  /** Another token like it, with the same lifetime. The old one stays valid for `graceMs`. */
  async rotate(id: number, graceMs: number, by: string): Promise<Shown> {
    const old = (await this.#store.tokenList()).find((one) => one.id === id);
    const isLive = (await this.#store.tokenAlive({ ids: [id] }))[0] === true;
    if (old === undefined || !isLive) throw noToken(id);
    const token = newSecret(old.role);
    const { kind, role, name, createdAt, expiresAt } = old;
    const ttlMs = expiresAt === undefined ? undefined : expiresAt - createdAt;
    const record = await this.#store.tokenAdd({
      token: { kind, role, name, hash: hashOf(token), prefix: prefixOf(token), by, ttlMs },
      replaces: { graceMs },
    });
    return { ...record, token };
  }

  async revoke(id: number): Promise<{ revoked: true }> {
    if (!(await this.#store.tokenRevoke({ id }))) throw noToken(id);
    return { revoked: true };
  }
}

function noToken(id: number): Error {
  return fault(
    'NOT_FOUND',
    { kind: 'token', id },
    { hint: 'It may have ended already; the list of tokens says when.' },
  );
}
