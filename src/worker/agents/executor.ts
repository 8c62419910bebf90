/** What runs an agent: a function, a program, an endpoint. All look the same to a machine. */
import type { AgentToolDefinition } from '../../flow/agent/definition.ts';
import type { AgentResult, Message, ToolDefinition } from '../../flow/agent/result.ts';
import type { Value, ValueMap } from '../../flow/expression/values.ts';
import type { RunScope } from '../machine/run-scope.ts';
import type { CallMemory } from './kept/call-memory.ts';
import type { AskPerson } from './kept/person.ts';
import type { Receipts } from './kept/receipts.ts';
import type { ConnectedTools } from './mcp/mcp-tools.ts';

/** What comes with the input of a call. */
export interface CallOptions {
  readonly context: ValueMap;
  /** By which the agent said that it goes on, when it was last called in this conversation. */
  readonly sessionId: string | undefined;
  /** The name that the state gives to the conversation: `session_id`. */
  readonly sessionName: string | undefined;
  /** The same for every attempt at this step: an endpoint that knows it does the work once. */
  readonly key: string;
  /** Aborted when the answer is no longer wanted. The call then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Of its servers. */
  readonly connected?: ConnectedTools | undefined;
  /** What the agent tells while it works. */
  readonly onEvent?: (event: ValueMap) => void;
  /** What another attempt at this step needs to go on with the work of this one. Undefined: of several calls at once nothing is kept. */
  readonly memory?: CallMemory | undefined;
  /** Effects that are to happen once. Undefined where nothing is kept. */
  readonly receipts?: Receipts | undefined;
  /** Undefined: nobody can be asked. */
  readonly ask?: AskPerson | undefined;
  /** The lines that a program says while it works. */
  readonly onText?: (line: string) => void;
}

export interface ToolTurn {
  readonly tools: readonly ToolDefinition[];
  /** The chain so far. Undefined: the first turn, which renders the prompt and gives it back. */
  readonly messages: readonly Message[] | undefined;
}

export interface AgentExecutor {
  readonly metadata: ValueMap;
  /** Those that the agent's own file names. */
  readonly tools: readonly AgentToolDefinition[];
  /** Connects its servers for a run. Undefined: it has none. */
  readonly connect?: ((scope: RunScope, signal: AbortSignal) => Promise<ConnectedTools>) | undefined;
  execute(input: Value, call: CallOptions): Promise<AgentResult>;
  /** One turn of a tool loop. Undefined: the agent calls its tools itself. */
  executeWithTools?(input: Value, turn: ToolTurn, call: CallOptions): Promise<AgentResult>;
}
