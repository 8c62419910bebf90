/** What the engine's own store hands out, for who works on an engine and knows no store. */
export type {
  AttemptRecord,
  FleetMember,
  Lane,
  LaneRules,
  LimitRecord,
  LogPlace,
  NodeRecord,
  SlotRecord,
  StoreTime,
  TaskQuery,
  TaskRecord,
  WaitRecord,
  WorkerRecord,
  WorkerSettingRecord,
} from '../store/store.ts';
