// SPDX-License-Identifier: Apache-2.0

// Command program prints what many kinds of control flow come to.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

func main() {
	fmt.Println("collatz", collatz(300))
	fmt.Println("primes", primes(200))
	fmt.Println("words", words("the of if the list if the"))
	fmt.Println("state", machine("a1b22c, ,333"))
	fmt.Println("recovered", recovered(7))
	fmt.Println("channels", channels(50))
	fmt.Println("deep", deep(20_000))
	fmt.Println("garbage", garbage(300))
	fmt.Println(search([][]int{{1, 2}, {3, 4, 5}, {6}}, 5))
	fmt.Println("errors", classify(fmt.Errorf("x: %w", os.ErrNotExist)), classify(nil))
}

func collatz(n int) (longest int) {
	for i := 1; i <= n; i++ {
		steps := 0
		for v := i; v != 1; steps++ {
			if v%2 == 0 {
				v /= 2
			} else {
				v = 3*v + 1
			}
		}
		longest = max(longest, steps)
	}
	return longest
}

func primes(n int) (found []int) {
next:
	for i := 2; i < n; i++ {
		for _, p := range found {
			if i%p == 0 {
				continue next
			}
			if p*p > i {
				break
			}
		}
		found = append(found, i)
	}
	return found
}

func words(text string) []string {
	count := map[string]int{}
	for w := range strings.FieldsSeq(text) {
		count[w]++
	}
	var all []string
	for w, n := range count {
		all = append(all, fmt.Sprint(w, n))
	}
	slices.Sort(all)
	return all
}

func machine(text string) string {
	var out strings.Builder
	i := 0
start:
	if i == len(text) {
		return out.String()
	}
	switch c := text[i]; {
	case '0' <= c && c <= '9':
		goto digits
	case c == ',':
		out.WriteByte('|')
		fallthrough
	case c == ' ':
		i++
		goto start
	default:
		out.WriteString(strings.ToUpper(text[i : i+1]))
		i++
		goto start
	}
digits:
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	out.WriteByte('#')
	goto start
}

func recovered(n int) (log []string) {
	for i := range n {
		func() {
			defer func() {
				if r := recover(); r != nil {
					log = append(log, fmt.Sprint(i, ":", r))
				}
			}()
			var list []int
			var pointer *int
			switch i % 3 {
			case 0:
				_ = list[i]
			case 1:
				_ = *pointer
			case 2:
				panic(errors.New("own"))
			}
		}()
	}
	return log
}

func channels(n int) (sum int) {
	in, out := make(chan int), make(chan int, 3)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for v := range in {
				select {
				case out <- v * v:
				case <-make(chan int):
				}
			}
		})
	}
	go func() {
		for i := range n {
			in <- i
		}
		close(in)
		all.Wait()
		close(out)
	}()
	for v := range out {
		sum += v
	}
	return sum
}

// deep makes the stack grow.
func deep(n int) int {
	var local [16]int
	if n == 0 {
		return 0
	}
	local[n%16] = n
	return deep(n-1) + local[n%16]%7
}

func garbage(n int) (size int) {
	var keep [][]byte
	for i := range n {
		keep = append(keep, make([]byte, 10_000+i))
		if len(keep) > 10 {
			keep = keep[5:]
		}
		size += len(keep[0])
	}
	return size
}

func search(rows [][]int, want int) (row, column int) {
	for row = range rows {
		for column = range rows[row] {
			if rows[row][column] == want {
				return row, column
			}
		}
	}
	return -1, -1
}

func classify(err error) string {
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, os.ErrNotExist):
		return "absent"
	}
	return "other"
}
