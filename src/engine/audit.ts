import type { AuditEnd, AuditEntry, AuditQuery, NewAuditEntry, Store } from '../store/store.ts';
import { checkLimit } from './check.ts';

export interface AuditDeps {
  readonly store: Pick<Store, 'auditAdd' | 'auditEnd' | 'auditList'>;
}

const MOST_TEXT = 200;
const MOST_JSON = 8192;

/** Who did what, as the store keeps it. What may be shown of a thing is decided before; here everything is only bounded. */
export class AuditTrail {
  readonly #store: AuditDeps['store'];

  constructor({ store }: AuditDeps) {
    this.#store = store;
  }

  /** Answers the number of the entry, once it is durable. */
  add(entry: NewAuditEntry): Promise<number> {
    const { actor, by, action, target, address, request, before, after } = entry;
    return this.#store.auditAdd({
      ...entry,
      actor: short(actor),
      by: by === undefined ? undefined : short(by),
      action: short(action),
      target: short(target),
      address: address === undefined ? undefined : short(address),
      request: request === undefined ? undefined : short(request),
      before: fitting(before),
      after: fitting(after),
    });
  }

  /** False: it has ended already, or is gone. */
  end(end: AuditEnd): Promise<boolean> {
    const { target, after } = end;
    return this.#store.auditEnd({
      ...end,
      target: target === undefined ? undefined : short(target),
      after: fitting(after),
    });
  }

  /** The newest first. */
  async list(query: Partial<AuditQuery> = {}): Promise<readonly AuditEntry[]> {
    const { actor, action, target, limit = 50 } = query;
    // As they were written.
    const texts = Object.fromEntries(
      Object.entries({ actor, action, target }).flatMap(([name, text]) =>
        text === undefined ? [] : [[name, short(text)]],
      ),
    );
    return this.#store.auditList({ ...query, ...texts, limit: checkLimit(limit) });
  }
}

/** Text of strangers: a store refuses NUL, and half a pair of surrogates. */
function short(text: string): string {
  return text.slice(0, MOST_TEXT).replaceAll('\0', '').toWellFormed();
}

/** Half an object is no JSON: what does not fit is left out as a whole. */
function fitting(json: string | undefined): string | undefined {
  return json === undefined || json.length > MOST_JSON ? undefined : json.replaceAll(String.raw`\u0000`, '');
}
