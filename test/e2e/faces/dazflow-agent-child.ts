/**
 * A dazflow agent as a program of its own. It knows nothing of leasehold but the messages:
 * `dazflow-agent-child.ts URL NAME SECRET`. It says on a line of its own what happens.
 */
const [url = '', name = '', secret = ''] = process.argv.slice(2);

interface Told {
  readonly type: string;
  readonly reason?: string;
  readonly task_id?: string;
  readonly name?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly required_version?: string;
  readonly task?: { readonly id: string; readonly input: unknown };
}

const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/agent`);
const say = (message: object): void => socket.send(JSON.stringify(message));

socket.addEventListener('open', () => say({ type: 'connect', name, secret, version: '1.0.0', credentials: [] }));
socket.addEventListener('close', () => process.exit(1));
socket.addEventListener('message', ({ data }) => {
  const told = JSON.parse(String(data)) as Told;
  console.log(told.type);
  switch (told.type) {
    case 'connect_ok':
      setInterval(() => say({ type: 'heartbeat' }), 500);
      return;
    case 'connect_rejected':
      process.exit(4);
      return;
    case 'task_available':
      say({ type: 'task_claim', task_id: told.task?.id });
      return;
    case 'task_claimed_ok':
      say({ type: 'task_progress', task_id: told.task_id, logs: [`${name} runs it`] });
      // What hangs is for the test to kill.
      if (told.task?.input !== 'hang') say({ type: 'task_complete', task_id: told.task_id, result: told.task?.input });
      return;
    case 'credential_push':
      // It prints a length, so that its output has no secret.
      console.log(`${told.name} has ${Object.values(told.data ?? {}).join('').length} characters`);
      say({ type: 'credential_ack', name: told.name, status: 'success' });
      return;
    case 'upgrade_required':
      console.log(`wants ${told.required_version}`);
      return;
    default:
  }
});
