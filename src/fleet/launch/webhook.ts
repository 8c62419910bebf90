import { failure } from '../../worker/handlers/failure.ts';
import { parseAddress, reachOf } from '../../worker/handlers/http/address.ts';
import { Destinations } from '../../worker/handlers/http/destinations.ts';
import { addressesOf, isAllowed, resolveName, unlessAborted } from '../../worker/handlers/http/http.ts';
import {
  exchange,
  type HttpResponse,
  hostOf,
  portOf,
  type ResolvedAddress,
} from '../../worker/handlers/http/http-exchange.ts';
import { SIGNATURE, signatureOf } from '../../worker/handlers/http/signature.ts';
import { object, optional, type Shape } from '../../worker/handlers/schema.ts';
import type { Launched, Launcher, LauncherHost, LauncherKind, LaunchRequest } from '../launcher.ts';
import { answeredText, quoted } from './answer.ts';
import { headers, secretHeaders, secretName, webAddress } from './fields.ts';
import { launchName } from './launch-name.ts';
import { readSettings } from './settings.ts';

export interface WebhookOptions {
  /** Destinations beside the Internet on ports 80 and 443; see `Destinations`. */
  readonly allowHttp: readonly string[];
  /** Default: the resolver of this host. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}

const MAX_ANSWER = 64 * 1024;

const fields = {
  url: webAddress('Where the request is sent; https, or http within a private network.'),
  sign: secretName('The secret of the node that the request is signed with, by the name of its variable.'),
  authorize: optional(
    secretName('The secret of the node that is sent as a bearer token, by the name of its variable.'),
  ),
  headers: optional(headers('More headers.')),
  secret_headers: optional(secretHeaders('Headers that are secrets of the node, by the names of their variables.')),
};

const schema = object(fields);

/** Asks a receiver for a worker: a function in a cloud, a service of the operator's. It has started one when it answers 2xx. */
export function webhookKind(options: WebhookOptions): LauncherKind {
  return {
    kind: 'webhook',
    make: (settings, host) => new WebhookLauncher(readSettings(schema, settings), host, options),
  };
}

class WebhookLauncher implements Launcher {
  readonly #settings: Shape<typeof fields>;
  readonly #host: LauncherHost;
  readonly #destinations: Destinations;
  readonly #resolve: NonNullable<WebhookOptions['resolve']>;
  readonly #url: URL;

  constructor(settings: Shape<typeof fields>, host: LauncherHost, { allowHttp, resolve }: WebhookOptions) {
    this.#settings = settings;
    this.#host = host;
    this.#destinations = new Destinations(allowHttp);
    this.#resolve = resolve ?? resolveName;
    this.#url = new URL(settings.url);
  }

  async launch(request: LaunchRequest): Promise<Launched> {
    const { signal, ticket } = request;
    const body = bodyOf(request);
    const headers = this.#headersOf(request, body);
    const addresses = await this.#addresses(signal);
    const given = { method: 'POST', url: this.#url, headers, body, addresses, signal, maxBody: MAX_ANSWER };
    const response = await exchange(given).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failure('UNREACHABLE', `${this.#url.host} did not answer: ${(error as Error).message}.`);
    });
    return { started: this.#startedBy(response, ticket) };
  }

  #headersOf(request: LaunchRequest, body: string): Readonly<Record<string, string>> {
    const { sign, authorize, headers = {}, secret_headers: secrets = {} } = this.#settings;
    const id = launchName(request);
    const bearer = authorize === undefined ? {} : { Authorization: `Bearer ${this.#secret(authorize)}` };
    return {
      'User-Agent': 'leasehold',
      'Content-Type': 'application/json',
      ...headers,
      ...Object.fromEntries(Object.entries(secrets).map(([name, variable]) => [name, this.#secret(variable)])),
      ...bearer,
      'X-Leasehold-Id': id,
      [SIGNATURE]: signatureOf({ id, at: this.#host.now(), body, keys: this.#secret(sign).split(/\s+/) }),
    };
  }

  #secret(name: string): string {
    const secret = this.#host.secret(name)?.trim();
    if (secret !== undefined && secret !== '') return secret;
    throw failure('NO_SECRET', `This process has no secret ${name}, and sends nothing without it.`);
  }

  /** Checked, and then connected to whatever the name leads to by then. */
  async #addresses(signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
    const url = this.#url;
    const refused = (problem: string): Error => failure('REFUSED', `The request was not sent: ${problem}.`);
    if (!this.#destinations.allowsPort(portOf(url)))
      throw refused(`port ${portOf(url)} is not one that this node may use`);
    const addresses = await unlessAborted(signal, addressesOf(hostOf(url), this.#resolve));
    if (!addresses.every((address) => isAllowed(url, address, this.#destinations))) {
      throw refused(`${hostOf(url)} leads to a destination that this node may not reach`);
    }
    if (url.protocol === 'http:' && addresses.some(isPublic)) {
      throw refused('the ticket would be readable on its way through the Internet; use https');
    }
    return addresses;
  }

  #startedBy(response: HttpResponse, ticket: string): string {
    const { status } = response;
    const host = this.#url.host;
    if (status >= 300 && status < 400) {
      throw failure(
        'REDIRECT',
        `${host} answered with a redirect (${status}), which is not followed: give the address itself.`,
      );
    }
    if (status < 200 || status > 299)
      throw failure(`HTTP_${status}`, `${host} answered with status ${status}${quoted(response, ticket)}`);
    return answeredText(response, 'started', ticket) ?? `by ${host}`;
  }
}

function isPublic({ address }: ResolvedAddress): boolean {
  const parsed = parseAddress(address);
  return parsed === undefined || reachOf(parsed) === 'public';
}

/** What a receiver needs to start a worker: its arguments and its environment. */
function bodyOf(request: LaunchRequest): string {
  const { pool, ticketId, ticket, args, env, expiresAt } = request;
  return JSON.stringify({
    event: 'launch',
    pool,
    name: launchName(request),
    ticket_id: ticketId,
    ticket,
    args,
    env,
    expires_at: new Date(expiresAt).toISOString(),
  });
}
