/** Parts that a run within a process is written down with, for programs that bring their own. */
export type {
  ExecutionLock,
  PersistenceBackend,
  ResultBackend,
  SignalBackend,
  TriggerBackend,
} from '../../worker/machine/persistence/backends.ts';
export { SignalDispatcher } from '../../worker/machine/persistence/dispatcher.ts';
export { LocalFileBackend } from '../../worker/machine/persistence/file-backend.ts';
export { incompleteExecutions } from '../../worker/machine/persistence/latest.ts';
export { FileLock, MemoryLock, NoOpLock } from '../../worker/machine/persistence/locks.ts';
export { MemoryBackend } from '../../worker/machine/persistence/memory-backend.ts';
export { MemorySignalBackend } from '../../worker/machine/persistence/memory-signals.ts';
export { InMemoryResultBackend } from '../../worker/machine/persistence/results.ts';
export { SQLiteCheckpointBackend } from '../../worker/machine/persistence/sqlite/checkpoints.ts';
export { SQLiteLeaseLock } from '../../worker/machine/persistence/sqlite/lease-lock.ts';
export { SQLiteSignalBackend } from '../../worker/machine/persistence/sqlite/signals.ts';
export { FileTrigger, NoOpTrigger, SocketTrigger, sendAndNotify } from '../../worker/machine/persistence/triggers.ts';
export { cloneSnapshot, type WireSnapshot } from '../../worker/machine/persistence/wire-snapshot.ts';
