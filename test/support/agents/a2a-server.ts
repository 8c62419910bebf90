/** An A2A agent on the server side of the official SDK, for tests: what it does a script says, for one message after the other. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { AgentCard, type Message, type Part, type Task, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server';

export interface A2aCall {
  readonly message: Message;
  readonly task: string;
  /** Aborted by a cancel. */
  readonly cancelled: AbortSignal;
  say(text: string): void;
  artifact(id: string, parts: readonly Part['content'][], append?: boolean): void;
  end(state: TaskState, text?: string): void;
}

export type A2aScript = (call: A2aCall) => void | Promise<void>;

export interface A2aServer {
  readonly url: string;
  readonly messages: readonly Message[];
  readonly cancels: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** Ends all connections, as a crash of the network would. */
  cut(): void;
}

export interface A2aOptions {
  readonly streaming?: boolean;
  /** Where its card says that it is. */
  readonly address?: (own: string) => string;
}

/** The last script is for all messages that come after it. */
export async function a2aServer(
  t: Pick<TestContext, 'after'>,
  scripts: readonly A2aScript[],
  { streaming = true, address = (own) => own }: A2aOptions = {},
): Promise<A2aServer> {
  const messages: Message[] = [];
  const cancels: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const running = new Map<string, AbortController>();
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card: AgentCard = {
    name: 'helper',
    description: 'helps',
    supportedInterfaces: [
      { url: `${address(url)}/rpc`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
    ],
    provider: undefined,
    version: '1',
    capabilities: { streaming, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  };
  const execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    messages.push(context.userMessage);
    const stop = new AbortController();
    running.set(context.taskId, stop);
    const script = scripts[Math.min(messages.length, scripts.length) - 1];
    await script?.(callOf(context, bus, stop.signal));
  };
  const cancelTask = async (id: string, bus: ExecutionEventBus): Promise<void> => {
    cancels.push(id);
    running.get(id)?.abort();
    const status = statusOf(TaskState.TASK_STATE_CANCELED);
    bus.publish(AgentEvent.statusUpdate({ taskId: id, contextId: '', status, metadata: undefined }));
    bus.finished();
  };
  const handler = new JsonRpcTransportHandler(
    new DefaultRequestHandler(card, new InMemoryTaskStore(), { execute, cancelTask }),
  );
  const answer = async (
    request: import('node:http').IncomingMessage,
    response: import('node:http').ServerResponse,
  ): Promise<void> => {
    headers.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (request.url === '/.well-known/agent-card.json') {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(AgentCard.toJSON(card)));
      return;
    }
    const said = await handler.handle(Buffer.concat(chunks).toString(), new ServerCallContext());
    if (!(Symbol.asyncIterator in said)) {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(said));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    try {
      for await (const one of said) response.write(`data: ${JSON.stringify(one)}\n\n`);
    } catch (error) {
      const problem = { jsonrpc: '2.0', id: null, error: JsonRpcTransportHandler.mapToJSONRPCError(error) };
      response.write(`data: ${JSON.stringify(problem)}\n\n`);
    }
    response.end();
  };
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url, messages, cancels, headers, cut: () => server.closeAllConnections() };
}

function callOf(context: RequestContext, bus: ExecutionEventBus, cancelled: AbortSignal): A2aCall {
  const { taskId, contextId, userMessage: message } = context;
  let isNamed = false;
  const named = (): void => {
    if (isNamed) return;
    isNamed = true;
    const task: Task = context.task ?? {
      id: taskId,
      contextId,
      status: statusOf(TaskState.TASK_STATE_SUBMITTED),
      artifacts: [],
      history: [],
      metadata: undefined,
    };
    bus.publish(AgentEvent.task(task));
  };
  const state = (word: TaskState, text?: string): void => {
    named();
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: statusOf(word, text), metadata: undefined }));
  };
  return {
    message,
    task: taskId,
    cancelled,
    say: (text) => state(TaskState.TASK_STATE_WORKING, text),
    artifact: (artifactId, contents, append = false) => {
      named();
      const artifact = {
        artifactId,
        name: artifactId,
        description: '',
        parts: contents.map(partOf),
        metadata: undefined,
        extensions: [],
      };
      bus.publish(
        AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: true, metadata: undefined }),
      );
    },
    end: (word, text) => {
      state(word, text);
      bus.finished();
    },
  };
}

let statuses = 0;

function statusOf(state: TaskState, text?: string): NonNullable<Task['status']> {
  const message: Message | undefined =
    text === undefined
      ? undefined
      : {
          messageId: `status-${++statuses}`,
          contextId: '',
          taskId: '',
          role: 2,
          parts: [partOf({ $case: 'text', value: text })],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        };
  return { state, message, timestamp: new Date().toISOString() };
}

const partOf = (content: Part['content']): Part => ({ content, metadata: undefined, filename: '', mediaType: '' });

export const textPart = (value: string): Part['content'] => ({ $case: 'text', value });
export const dataPart = (value: unknown): Part['content'] => ({ $case: 'data', value });
