/** What the headers of an endpoint say about its limits. */
import type { RateLimit, RateLimitWindow } from './result.ts';

export type Headers = Readonly<Record<string, string | readonly string[]>>;

const RESOURCES = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;
const BUCKETS = { minute: 60, hour: 3600, day: 86_400 } as const;

/** Undefined if they say nothing. `retryAfter` in seconds, from the header that all servers have. */
export function rateLimitOf(headers: Headers, retryAfter: number | undefined): RateLimit | undefined {
  const windows = [...bucketWindows(headers), ...plainWindows(headers), ...datedWindows(headers)];
  if (windows.length === 0 && retryAfter === undefined) return undefined;
  return {
    limited: retryAfter !== undefined || windows.some(({ remaining }) => remaining === 0),
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    ...(windows.length === 0 ? {} : { windows }),
  };
}

/** `x-ratelimit-remaining-requests-minute` (Cerebras). */
function bucketWindows(headers: Headers): readonly RateLimitWindow[] {
  return Object.entries(BUCKETS).flatMap(([bucket, seconds]) =>
    RESOURCES.flatMap((resource) =>
      windowOf(
        headers,
        resource,
        `${word(resource)}_per_${bucket}`,
        (what) => `x-ratelimit-${what}-${resource}-${bucket}`,
        () => ({ resets_in: seconds }),
      ),
    ),
  );
}

/** `x-ratelimit-remaining-requests`, with `x-ratelimit-reset-requests: 6m0s` (OpenAI and most others). */
function plainWindows(headers: Headers): readonly RateLimitWindow[] {
  return RESOURCES.flatMap((resource) =>
    windowOf(
      headers,
      resource,
      word(resource),
      (what) => `x-ratelimit-${what}-${resource}`,
      (reset) => {
        const seconds = secondsIn(reset);
        return seconds === undefined ? {} : { resets_in: seconds };
      },
    ),
  );
}

/** `anthropic-ratelimit-requests-remaining`, with a date for the reset. */
function datedWindows(headers: Headers): readonly RateLimitWindow[] {
  return RESOURCES.flatMap((resource) =>
    windowOf(
      headers,
      resource,
      word(resource),
      (what) => `anthropic-ratelimit-${resource}-${what}`,
      (reset) => {
        const ms = Date.parse(reset);
        return Number.isNaN(ms) ? {} : { reset_at: ms / 1000 };
      },
    ),
  );
}

function windowOf(
  headers: Headers,
  resource: string,
  name: string,
  header: (what: 'remaining' | 'limit' | 'reset') => string,
  resetOf: (text: string) => Partial<RateLimitWindow>,
): readonly RateLimitWindow[] {
  const remaining = wholeIn(headers[header('remaining')]);
  const limit = wholeIn(headers[header('limit')]);
  if (remaining === undefined && limit === undefined) return [];
  const reset = headers[header('reset')];
  return [
    {
      name,
      resource: word(resource),
      ...(remaining === undefined ? {} : { remaining }),
      ...(limit === undefined ? {} : { limit }),
      ...resetOf(typeof reset === 'string' ? reset : ''),
    },
  ];
}

const word = (resource: string): string => resource.replace('-', '_');

function wholeIn(value: string | readonly string[] | undefined): number | undefined {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001 };

/** `1s`, `6m0s`, `20ms`, `59.7`: seconds. */
function secondsIn(text: string): number | undefined {
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) return Number(text);
  if (!/^(?:\d{1,9}(?:\.\d{1,6})?(?:ms|h|m|s))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  return parts.reduce((sum, [, amount, unit = 's']) => sum + Number(amount) * (UNITS[unit] ?? 0), 0);
}
