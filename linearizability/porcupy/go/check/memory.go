package check

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// ExitMemory is the exit status of a search that was stopped for its memory.
const ExitMemory = 3

// LimitMemory makes the process end itself, with ExitMemory, soon after it holds more than limit.
//
// An address space limit (RLIMIT_AS) would not do: Go reserves far more than it uses.
func LimitMemory(limit int64) {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	// Collect harder near the limit; the collector alone cannot keep live data below it.
	debug.SetMemoryLimit(limit / 10 * 9)
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			if held() > limit {
				os.Exit(ExitMemory)
			}
		}
	}()
}

// held is what the process has from the system and has not given back.
func held() int64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64())
}
