import { z } from 'zod';

const MAX_URL = 8192;
const MAX_HEADERS = 50;
const MAX_VALUE = 8192;

/** What a webhook can be told. */
export const WEBHOOK_EVENTS = ['task_start', 'progress', 'task_completed', 'task_failed', 'final'] as const;

/** Whom an execution tells what happens. */
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
  events: z
    .array(z.enum(WEBHOOK_EVENTS))
    .min(1)
    .max(WEBHOOK_EVENTS.length)
    .default([...WEBHOOK_EVENTS]),
  /** The variable of the worker's environment that has the key of the signature. */
  secret_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)
    .nullish(),
});
export type WebhookConfig = z.output<typeof WebhookConfig>;
