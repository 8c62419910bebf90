import { z } from 'zod';

const MAX_URL = 8192;
const MAX_HEADERS = 50;
const MAX_VALUE = 8192;

/** Whom an execution tells of its end. */
export const WebhookConfig = z.strictObject({
  url: z
    .string()
    .max(MAX_URL)
    .refine((url) => {
      if (!URL.canParse(url)) return false;
      const { protocol, username, password } = new URL(url);
      return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
    }, 'it is a URL of http or https, without a user or a password'),
  method: z.enum(['POST', 'PUT']).default('POST'),
  headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/), z.string().max(MAX_VALUE))
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `it has at most ${MAX_HEADERS} headers`)
    .nullish(),
  /** Of one request, in seconds. */
  timeout: z.number().min(0.1).max(300).default(30),
  /** Requests that are made at most. */
  max_retries: z.number().int().min(1).max(20).default(3),
});
export type WebhookConfig = z.output<typeof WebhookConfig>;
