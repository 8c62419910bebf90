import { fault } from '../../core/errors.ts';
import { checkName } from '../../core/names.ts';
import { checkWorkerSetting } from '../../engine/check.ts';
import type { Engine } from '../../engine/engine.ts';
import { hashOf, newSecret, prefixOf } from '../secrets.ts';

type EnrolStore = Pick<
  Engine['store'],
  'tokenAdd' | 'tokenFind' | 'tokenExchange' | 'tokenList' | 'tokenAlive' | 'workerForget' | 'workerSettings'
>;

type Terms = Pick<Parameters<EnrolStore['tokenAdd']>[0], 'unless' | 'setting'>;

const CODE_MS = 600_000;

/** Secrets of workers on other hosts: one for each name. */
export class Enrolment {
  readonly #store: EnrolStore;

  constructor(store: EnrolStore) {
    this.#store = store;
  }

  /** Enrols a new worker: makes its secret or a code for it, and stores the settings of its name. */
  async create(
    request: Parameters<Engine['workers']['set']>[0],
    by: string,
    kind: 'secret' | 'code',
  ): Promise<{ readonly secret: string } | { readonly code: string }> {
    const { name, ...setting } = checkWorkerSetting(request);
    const isGiven = Object.values(setting).some((value) => value !== undefined);
    const terms = { unless: ['secret', 'code'], setting: isGiven ? setting : undefined } as const;
    return kind === 'code'
      ? { code: await this.code(name, by, terms) }
      : { secret: await this.secret(name, by, 0, terms) };
  }

  /** A new secret. Others of that name end after the grace. */
  async secret(name: string, by: string, graceMs = 0, terms: Terms = {}): Promise<string> {
    const secret = newSecret('worker');
    const token = secretOf(checkName('worker name', name), secret, by);
    await this.#store.tokenAdd({ token, replaces: { graceMs }, ...terms });
    return secret;
  }

  /** A code for the secret. It works once and not for long, so that it may stand on a screen or in a chat. */
  async code(name: string, by: string, terms: Terms = {}): Promise<string> {
    const code = newSecret('code');
    const token = { kind: 'code', role: 'worker', name: checkName('worker name', name), by, ttlMs: CODE_MS } as const;
    await this.#store.tokenAdd({
      token: { ...token, hash: hashOf(code), prefix: prefixOf(code) },
      replaces: { graceMs: 0 },
      ...terms,
    });
    return code;
  }

  async exchange(code: string): Promise<{ readonly name: string; readonly secret: string }> {
    const hash = hashOf(code);
    const found = await this.#store.tokenFind({ hash });
    const secret = newSecret('worker');
    if (found?.kind === 'code') {
      const token = secretOf(found.name, secret, found.by);
      if ((await this.#store.tokenExchange({ hash, token })) !== undefined) return { name: found.name, secret };
    }
    throw fault('UNAUTHENTICATED', undefined, {
      hint: 'The code was used, or its ten minutes are over; "leasehold workers create NAME --code" makes another.',
    });
  }

  /** Whether a worker of this name can join: it has a secret, or a code for one. */
  async expects(name: string): Promise<boolean> {
    const own = (await this.#store.tokenList()).filter((one) => one.kind !== 'bearer' && one.name === name);
    return (await this.#store.tokenAlive({ ids: own.map(({ id }) => id) })).includes(true);
  }

  /** The same, or its name has settings. */
  async knows(name: string): Promise<boolean> {
    return (await this.#store.workerSettings()).some((one) => one.name === name) || this.expects(name);
  }

  /** Ends its secrets and codes, and drops the settings of the name; answers how many of them were valid. */
  async remove(name: string): Promise<number> {
    return (await this.#store.workerForget({ name })).tokens;
  }
}

function secretOf(name: string, secret: string, by: string) {
  return { kind: 'secret', role: 'worker', name, by, hash: hashOf(secret), prefix: prefixOf(secret) } as const;
}
