import type { HttpResponse } from './http-exchange.ts';

export interface BodyText {
  readonly body: string;
  readonly encoding: 'text' | 'base64';
  /** Something is missing at its end. */
  readonly truncated: boolean;
}

/** As JSON. Together with the headers it must fit into a result, which holds 1 MiB. */
const MAX_JSON = 960 * 1024;

const TEXTUAL =
  /^(?:text\/.*|application\/(?:.*\+)?(?:json|xml|yaml|javascript|x-ndjson|graphql|x-www-form-urlencoded))$/;

/** The body as text where its type says so and its bytes are valid; otherwise in base64. Both can be stored unchanged. */
export function bodyText(response: HttpResponse): BodyText {
  const { body, cut } = response;
  for (let keep = body.length, truncated = cut; ; truncated = true) {
    const text = decode(response, body.subarray(0, keep), truncated);
    const size = Buffer.byteLength(JSON.stringify(text.body));
    if (size <= MAX_JSON) return { ...text, truncated };
    // Escaped characters grow up to six times; a few rounds find how much fits.
    keep = Math.floor((keep * MAX_JSON * 0.99) / size);
  }
}

function decode({ headers }: HttpResponse, bytes: Buffer, truncated: boolean): Pick<BodyText, 'body' | 'encoding'> {
  const base64 = (): Pick<BodyText, 'body' | 'encoding'> => ({ body: bytes.toString('base64'), encoding: 'base64' });
  const [type = '', ...parameters] = one(headers['content-type']).toLowerCase().split(';');
  const coding = one(headers['content-encoding']).trim();
  if (coding !== '' && coding.toLowerCase() !== 'identity') return base64();
  if (type.trim() !== '' && !TEXTUAL.test(type.trim())) return base64();
  const charset = parameters.map((part) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(part)?.[1]).find(Boolean);
  try {
    // `stream` omits a character that was cut in half.
    const body = new TextDecoder(charset ?? 'utf-8', { fatal: true }).decode(bytes, { stream: truncated });
    return body.includes('\0') ? base64() : { body, encoding: 'text' };
  } catch {
    // Not valid in its encoding, or an unknown encoding.
    return base64();
  }
}

function one(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}
