/** The methods of A2A 1.0 and, with a slash, those of 0.3. True: it writes. */
const METHODS: ReadonlyMap<string, boolean> = new Map([
  ['SendMessage', true],
  ['SendStreamingMessage', true],
  ['CancelTask', true],
  ['GetTask', false],
  ['ListTasks', false],
  ['SubscribeToTask', false],
  ['GetExtendedAgentCard', false],
  // Nothing is stored: each of these answers that there are no push notifications.
  ['CreateTaskPushNotificationConfig', false],
  ['GetTaskPushNotificationConfig', false],
  ['ListTaskPushNotificationConfigs', false],
  ['DeleteTaskPushNotificationConfig', false],
  ['message/send', true],
  ['message/stream', true],
  ['tasks/cancel', true],
  ['tasks/get', false],
  ['tasks/resubscribe', false],
  ['agent/getAuthenticatedExtendedCard', false],
  ['tasks/pushNotificationConfig/set', false],
  ['tasks/pushNotificationConfig/get', false],
  ['tasks/pushNotificationConfig/list', false],
  ['tasks/pushNotificationConfig/delete', false],
]);

/** Whether a body of JSON-RPC calls A2A: the names differ from those of apflow, which shares an address with it. */
export function isA2aCall(body: unknown): body is Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  const { method } = body as { readonly method?: unknown };
  return typeof method === 'string' && METHODS.has(method);
}

export function isA2aWrite(method: unknown): boolean {
  return METHODS.get(method as string) ?? false;
}

/** A method of A2A 0.3. */
export function isLegacy(method: unknown): boolean {
  return typeof method === 'string' && method.includes('/');
}
