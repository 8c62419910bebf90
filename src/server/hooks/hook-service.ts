import type { IncomingHttpHeaders } from 'node:http';
import { fault } from '../../core/errors.ts';
import type { Pace } from '../../core/trigger/bucket.ts';
import { type Signature, type Trigger, windowOf } from '../../core/trigger/trigger.ts';
import type { Engine } from '../../engine/engine.ts';
import type { StoredTrigger } from '../../engine/triggers/triggers.ts';
import type { HookSecrets } from '../../operate/triggers/hook-secrets.ts';
import { viewFired } from '../../operate/triggers/view.ts';
import type { FiredView } from '../../operate/views.ts';
import type { PushGuard } from '../auth/push-guard.ts';
import { parseBody } from '../http/json-body.ts';
import { HookFlood } from './hook-flood.ts';
import { type Claimed, claimed, deliveryKey, isGenuine, isTimely } from './signature.ts';

/** A whole delivery. GitHub sends up to 25 MB; what is larger than this belongs behind a program of one's own. */
export const MAX_HOOK_BYTES = 262_144;
const DAY_MS = 24 * 3_600_000;
/** A delivery without a time may come again for as long as senders try. */
const KEEP_UNTIMED_MS = 30 * DAY_MS;

export interface HookServiceOptions {
  readonly engine: Engine;
  readonly secrets: HookSecrets;
  readonly guard: PushGuard;
  readonly pace?: Pace | undefined;
}

export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * Takes deliveries of webhooks. Before a byte of the body is read, its address must have its turn, the trigger must be there, and the head must
 * have a signature in its form and a time within the window. A delivery that is not let in learns nothing: every refusal is the same.
 */
export class HookService {
  readonly #options: HookServiceOptions;
  readonly #flood: HookFlood;

  constructor(options: HookServiceOptions) {
    this.#options = options;
    this.#flood = new HookFlood(options.engine.world.clock, options.pace);
  }

  /** Refuses a delivery by its head. */
  async admit(name: string, address: string, headers: IncomingHttpHeaders): Promise<void> {
    const found = await this.#find(name);
    // Names that are not there share a bucket: there is no end of them.
    this.#flood.admit(found === undefined ? '' : name, address);
    if (found === undefined || this.#claimed(found.trigger, headers) === undefined) throw refused(name);
  }

  async deliver(name: string, { headers, body }: Delivery): Promise<FiredView> {
    const found = await this.#find(name);
    const claim = found && this.#claimed(found.trigger, headers);
    const secret = found && this.#options.secrets.read(name, found.trigger.secret);
    if (found === undefined || claim === undefined || secret === undefined) throw refused(name);
    if (!isGenuine(claim, secret, body)) throw refused(name);
    // From here on it is the sender who asks.
    const { trigger } = found;
    const told = body === '' ? {} : parseBody(body);
    await this.#pace(trigger);
    const style = styleOf(trigger);
    const key = deliveryKey(style, claim, body, told);
    const keepMs = claim.time === undefined ? KEEP_UNTIMED_MS : keepOf(windowOf(trigger));
    const about = `webhook ${claim.id ?? key.slice(0, 21)}`;
    return viewFired(await this.#options.engine.triggers.fireOne(name, { key, keepMs, about, told }));
  }

  async #pace(trigger: Trigger): Promise<void> {
    const { engine, guard } = this.#options;
    const retryAfterMs = engine.triggers.takePace(trigger);
    if (retryAfterMs > 0) {
      throw fault('TOO_MANY', { problem: `the trigger ${trigger.name} fires too often`, retryAfterMs });
    }
    const { queue } = { queue: `trigger.${trigger.name}`, ...trigger.run, ...trigger.push } as {
      readonly queue: string;
    };
    await guard.admit(`trigger:${trigger.name}`, new Map([[queue, 1]]));
  }

  #claimed(trigger: Trigger, headers: IncomingHttpHeaders): Claimed | undefined {
    const claim = claimed(styleOf(trigger), headers);
    const now = this.#options.engine.world.clock.wall();
    return claim !== undefined && isTimely(claim, windowOf(trigger), now) ? claim : undefined;
  }

  async #find(name: string): Promise<StoredTrigger | undefined> {
    if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(name)) return undefined;
    const found = await this.#options.engine.triggers.find(name);
    return found?.enabled === true && found.trigger.kind === 'webhook' ? found : undefined;
  }
}

const styleOf = ({ signature = 'leasehold' }: Trigger): Signature => signature;

/** A day, for senders that sign each try anew. A time may lie a window ahead of this clock, and is then good for two. */
const keepOf = (windowMs: number): number => Math.max(DAY_MS, 2 * windowMs + 60_000);

function refused(name: string): Error {
  const hint = [
    'The trigger is not there or off, or the delivery is not signed with its secret over id, time and body, or its time is not now.',
    '"leasehold triggers show NAME" tells how it is set, and docs/guides/triggers.md how to sign.',
  ].join(' ');
  return fault('NOT_FOUND', { kind: 'trigger that takes this delivery:', id: name.slice(0, 63) }, { hint });
}
