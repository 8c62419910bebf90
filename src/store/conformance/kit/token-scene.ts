import { createHash } from 'node:crypto';
import type { NewToken, Rotation, Store, TokenRecord } from '../../store.ts';
import type { Scene } from './scene.ts';

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A secret of the worker "box"; its text stands for its hash. */
export const token = (text: string, more: Partial<NewToken> = {}): NewToken => {
  return {
    kind: 'secret',
    role: 'worker',
    name: 'box',
    prefix: text.slice(0, 4),
    by: 'ada',
    ...more,
    hash: hashOf(text),
  };
};

export const code = (text: string, more: Partial<NewToken> = {}): NewToken => token(text, { kind: 'code', ...more });

export const addToken = ({ store }: Scene, given: NewToken, graceMs?: number): Promise<TokenRecord> =>
  store.tokenAdd({ token: given, replaces: graceMs === undefined ? undefined : { graceMs } });

export const exchangeCode = (
  store: Store,
  text: string,
  given: NewToken,
  replaces?: Rotation,
): Promise<TokenRecord | undefined> => store.tokenExchange({ hash: hashOf(text), token: given, replaces });

export const findToken = ({ store }: Scene, text: string): Promise<TokenRecord | undefined> =>
  store.tokenFind({ hash: hashOf(text) });

/** Which of these tokens are live. */
export async function comeIn(scene: Scene, ...texts: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(texts.map((text) => findToken(scene, text)));
  return texts.filter((_, i) => found[i] !== undefined);
}
